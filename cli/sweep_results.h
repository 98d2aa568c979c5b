#pragma once
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// The values of the trials of a round, from the current state of their runs.
TrialValues round_values(const SweepDirectory& sweep, const SweepRound& round);

// Prints the trials from best to worst with their values. With `call.json`, prints them as JSON;
// otherwise prints a table and a report of their runs.
void print_sweep(const SweepDirectory& sweep, const Invocation& call);

}  // namespace rl_training
