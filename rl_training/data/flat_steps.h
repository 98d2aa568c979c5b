#pragma once
#include <span>
#include <string>
#include <vector>

#include "rl_training/data/array_source.h"
#include "rl_training/data/flat_layout.h"
#include "rl_training/data/logged_steps.h"

namespace rl_training {

// Reads a file of flat arrays. Observations and actions are stored in `memory`, unless `source`
// lends them (ArraySource::lend). Checks that the shapes match before it reads any data.
LoggedSteps read_flat_steps(ArraySource& source, const std::string& file, const FlatKeys& keys,
                            const DatasetReadOptions& options, ArrayMemory& memory);

// Helpers for readers of other layouts. They throw Error{data} with `place` and, for a wrong value,
// its row.
void check_finite(const ErrorPlace& place, std::span<const float> values, int64_t columns,
                  int64_t first_row = 0);
void check_finite(const ErrorPlace& place, std::span<const double> values, int64_t columns,
                  int64_t first_row = 0);
std::vector<uint8_t> to_flags(const ErrorPlace& place, std::span<const double> values,
                              int64_t first_row = 0);
// Checks that the values are whole numbers from 0 to `categories` - 1.
void check_choices(const ErrorPlace& place, std::span<const double> values, int64_t categories,
                   int64_t first_row = 0);
void check_action_dim(const ErrorPlace& place, const DatasetReadOptions& options, int64_t dims);
// Reads actions with `dims` columns. If the options state bounds, checks discrete actions and
// scales continuous actions to [-1, 1].
void read_actions(ArraySource& source, const std::string& key, int64_t dims,
                  const DatasetReadOptions& options, std::span<float> out);

}  // namespace rl_training
