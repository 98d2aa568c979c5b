#pragma once
#include <map>
#include <string>
#include <vector>

#include "rl_training/util/error.h"
#include "rl_training/util/options.h"

namespace rl_training {

// Maps roles to names in a file: `role=name,name role=name ...`, where names are arrays of npz and
// HDF5 files or columns of csv files. Names with blanks are quoted.
//   obs=qpos,qvel action=ctrl reward=r terminated=failed timeout=cut
// A word without `=` is the name of a known layout of arrays (array_layout.h), parts of which the
// rest of the map may override.
//
// | role | holds |
// | obs, action, next_obs | numbers; several arrays or columns are concatenated |
// | reward | one number a row |
// | terminated | 1 where the task itself ended; `none`: it never does |
// | timeout | 1 where only the time limit was reached |
// | done | 1 at every end, whatever the reason: treated as termination, with a warning |
// | episode_end | 1 at the last row of an episode, which says nothing about termination |
// | episode | changes from one episode to the next |
struct KeyMap {
  static const std::vector<std::string>& roles();
  // Throws Error{data} at `place` for malformed text.
  static KeyMap parse(const ErrorPlace& place, const std::string& text);

  std::string layout;                                     // "": none
  std::map<std::string, std::vector<std::string>> names;  // by role

  // Visits the keys of a config, whose values are comma-separated names.
  void visit_options(OptionVisitor& options);
  std::string text() const;  // as `parse` reads it

  bool has(const std::string& role) const { return names.count(role) > 0; }
  // `terminated=none`.
  bool never_terminates() const;
};

// Whether programs use this name for a mark of every episode end.
bool is_done_name(const std::string& name);

}  // namespace rl_training
