#pragma once
#include <gtest/gtest.h>

#include "rl_training/algorithms/registry.h"

namespace rl_training {

// Test parameters: every algorithm of the registry.
inline std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const auto& info : algorithms()) names.push_back(info.name);
  return names;
}

// Algorithms that support both kinds of actions appear twice, the second time with discrete
// actions.
inline std::vector<std::string> algorithm_cases() {
  auto cases = algorithm_names();
  for (const auto& info : algorithms()) {
    if (info.actions == ActionKind::either) cases.push_back(info.name + "_choices");
  }
  return cases;
}

inline AlgorithmInfo info_of_case(const std::string& name) {
  constexpr std::string_view kChoices = "_choices";
  if (!name.ends_with(kChoices)) return find_algorithm(name);
  auto info = find_algorithm(name.substr(0, name.size() - kChoices.size()));
  info.actions = ActionKind::choices;
  return info;
}

inline std::string name_of_test(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace rl_training
