#pragma once
#include <string>
#include <vector>

namespace rl_training {

// Something that a build may have or lack.
struct OptionalPart {
  std::string name, serves;
  bool present = false;
  std::string install;  // what brings it
};

std::vector<OptionalPart> optional_parts();

// What will make runs on this machine slow, noisy or fail, one sentence each with the remedy.
std::vector<std::string> machine_advice();

}  // namespace rl_training
