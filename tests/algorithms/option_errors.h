#pragma once
#include <string>

#include "rl_training/algorithms/algorithm.h"

namespace rl_training {

// Reads one key of algo_kwargs. Returns the error message, or "" if the value is accepted.
inline std::string option_error(AlgorithmOptions& options, const std::string& key,
                                const std::string& value) {
  auto map = ConfigNode::map();
  map.set(key, ConfigNode::scalar(value));
  try {
    OptionReader reader(map, "");
    options.visit_options(reader);
    reader.finish();
    options.check();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace rl_training
