#pragma once
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "rl_training/data/space.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// The file that a subcommand of `dataset` writes.
struct WriteArguments {
  std::string out, format = "auto";

  void add_to(CLI::App& command);
  // Call this before the work starts: throws Error{config} for an unknown format, or if one of the
  // inputs would be overwritten.
  void check(const std::vector<std::string>& inputs) const;
  // `bounds` of the environment, if known; with `scale` the actions are still in [-1, 1].
  void save(const TransitionDataset& dataset, const Space* bounds, bool scale,
            const Invocation& call) const;

 private:
  std::string chosen() const;
};

}  // namespace rl_training
