#pragma once
#include <gtest/gtest.h>

#include "rl_training/algorithms/registry.h"

namespace rl_training {

// The names of all algorithms of the registry, used as test parameters.
inline std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const auto& info : algorithms()) names.push_back(info.name);
  return names;
}

// The names of all algorithms, used as test parameters. An algorithm that supports both kinds of
// actions appears a second time with the suffix "_choices", which stands for discrete actions.
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
