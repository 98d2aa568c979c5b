#pragma once
#include "cli/commands.h"
#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// Submits the remaining runs of a sweep to Slurm with its stored options. Prints the trials if
// nothing remains. `by_hand` means that a user, not a Slurm job, makes the call; attempts are then
// counted from zero.
int submit_sweep(SweepDirectory& sweep, const Invocation& call, bool by_hand);

// Adds the subcommands `status` and `cancel`, and the subcommands that Slurm jobs call.
void add_sweep_subcommands(CLI::App& sweep, Invocation& call);

}  // namespace rl_training
