#pragma once
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// The output file of a subcommand of `dataset`.
struct WriteArguments {
  std::string out, format = "auto";

  void add_to(CLI::App& command);
  // Throws Error{config} for an unknown format, or if one of the inputs would be overwritten. Call
  // this before the work starts.
  void check(const std::vector<std::string>& inputs) const;
  // `bounds` are the action bounds of the environment, or null if unknown. If `scale` is true, the
  // dataset's actions are in [-1, 1], and the file contains them scaled to `bounds`.
  void save(const TransitionDataset& dataset, const Space* bounds, bool scale,
            const Invocation& call) const;

 private:
  std::string chosen() const;
};

}  // namespace rl_training
