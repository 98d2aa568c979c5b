#pragma once
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// The value of each trial of a round, from its runs as they are.
TrialValues round_values(const SweepDirectory& sweep, const SweepRound& round);

// Trials from best to worst with their values, and the report of their runs: a table, or JSON with
// `call.json`. `reports` are those of the runs, where they were trained just now.
void print_sweep(const SweepDirectory& sweep, const Invocation& call);

}  // namespace rl_training
