#pragma once
#include <string>
#include <vector>

namespace rl_training {

// An optional component of a build. `serves` names what needs the component.
struct OptionalPart {
  std::string name, serves;
  bool present = false;
  std::string install;  // the package that provides the component
};

std::vector<OptionalPart> optional_parts();

// Conditions on this machine that make runs slow, make them fail, or make measurements noisy. Each
// condition is described in one sentence.
std::vector<std::string> machine_advice();

}  // namespace rl_training
