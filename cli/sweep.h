#pragma once
#include "cli/commands.h"
#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// Submits the rest of a sweep to Slurm, with its state's options; prints the trials where
// nothing is. `by_hand`: called by a user, so attempts are counted from zero.
int submit_sweep(SweepDirectory& sweep, const Invocation& call, bool by_hand);

// status, cancel and what jobs on Slurm call.
void add_sweep_subcommands(CLI::App& sweep, Invocation& call);

}  // namespace rl_training
