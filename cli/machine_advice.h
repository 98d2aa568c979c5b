#pragma once
#include <string>
#include <vector>

namespace rl_training {

// An optional part of a build.
struct OptionalPart {
  std::string name, serves;
  bool present = false;
  std::string install;  // package that provides it
};

std::vector<OptionalPart> optional_parts();

// Conditions on this machine that make runs slow or fail, or measurements noisy; one sentence each,
// with the remedy.
std::vector<std::string> machine_advice();

}  // namespace rl_training
