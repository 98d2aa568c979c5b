#pragma once
#include "cli/commands.h"
#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// Submits the remaining runs of a sweep to Slurm with the options stored in the sweep. Prints the
// trials if nothing remains. `by_hand` is true if a user makes the call and false if a Slurm job
// does. A call by a user resets the count of attempts.
int submit_sweep(SweepDirectory& sweep, const Invocation& call, bool by_hand);

// Adds the subcommands `status` and `cancel`, and the subcommands that Slurm jobs call.
void add_sweep_subcommands(CLI::App& sweep, Invocation& call);

}  // namespace rl_training
