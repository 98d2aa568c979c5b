#pragma once
#include <map>
#include <string>
#include <vector>

#include "rl_training/util/error.h"
#include "rl_training/util/options.h"

namespace rl_training {

// Maps roles to names in a file: `role=name,name role=name ...`. A name refers to an array of an
// npz or HDF5 file, or to a column of a csv file. Names with blanks are quoted. Example:
//   obs=qpos,qvel action=ctrl reward=r terminated=failed timeout=cut
// The first word may be the name of a known layout of arrays (array_layout.h) instead. The rest of
// the map then overrides parts of this layout.
//
// | role | contents |
// | obs, action, next_obs | numbers; several arrays or columns are concatenated |
// | reward | one number per row |
// | terminated | 1 where the task itself ended; `none` if the task never terminates |
// | timeout | 1 where the time limit ended the episode |
// | done | 1 at every episode end; treated as termination, with a warning |
// | episode_end | 1 at the last row of an episode; does not imply termination |
// | episode | value that changes from one episode to the next |
struct KeyMap {
  static const std::vector<std::string>& roles();
  // Throws Error{data} at `place` for malformed text.
  static KeyMap parse(const ErrorPlace& place, const std::string& text);

  std::string layout;                                     // "" if the map names no layout
  std::map<std::string, std::vector<std::string>> names;  // key: role

  // Visits the layout and the roles as keys of a config. Values are comma-separated names.
  void visit_options(OptionVisitor& options);
  std::string text() const;  // in the syntax of parse()

  bool has(const std::string& role) const { return names.count(role) > 0; }
  // Whether the map contains `terminated=none`.
  bool never_terminates() const;
};

// Whether an array or column with this name usually marks every episode end.
bool is_done_name(const std::string& name);

}  // namespace rl_training
