#pragma once
#include <string>
#include <vector>

namespace rl_training {

// A file of configs/, embedded in the program.
struct PackagedConfig {
  std::string name;  // for example "td3_bc/pendulum"
  std::string text;
};

const std::vector<PackagedConfig>& packaged_configs();

}  // namespace rl_training
