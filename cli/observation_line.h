#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/util/error.h"

namespace rl_training {

// One line of input for a policy.
struct ObservationLine {
  std::vector<double> obs;
  std::optional<double> reward;  // reward of the previous step
};

// Reads an array of `size` numbers, or {"obs": array, "reward": number}. Other text causes
// Error{data} with this `place`.
ObservationLine read_observation_line(const std::string& text, int64_t size,
                                      const ErrorPlace& place);

}  // namespace rl_training
