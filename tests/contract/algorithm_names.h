#pragma once
#include <gtest/gtest.h>

#include "rl_training/algorithms/registry.h"

namespace rl_training {

// Test parameters: every algorithm of the table, now and later.
inline std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const auto& info : algorithms()) names.push_back(info.name);
  return names;
}

inline std::string name_of_test(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace rl_training
