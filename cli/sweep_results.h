#pragma once
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// The value of each trial of a round, from the current state of its runs.
TrialValues round_values(const SweepDirectory& sweep, const SweepRound& round);

// Trials from best to worst with their values, and the report of their runs: a table, or JSON with
// `call.json`. `reports` are those of the runs that were just trained.
void print_sweep(const SweepDirectory& sweep, const Invocation& call);

}  // namespace rl_training
