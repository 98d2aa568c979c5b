#pragma once
#include "cli/commands.h"
#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// Submits the remaining runs of a sweep to Slurm with its stored options; prints the trials if
// nothing remains. `by_hand`: called by a user, so attempts are counted from zero.
int submit_sweep(SweepDirectory& sweep, const Invocation& call, bool by_hand);

// Adds status, cancel, and the subcommands that Slurm jobs call.
void add_sweep_subcommands(CLI::App& sweep, Invocation& call);

}  // namespace rl_training
