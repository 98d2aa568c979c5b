#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rl_training/envs/environment.h"

namespace rl_training {

struct EnvInfo {
  std::string id, summary;
  std::function<std::unique_ptr<Environment>()> make;  // the bare task, without its time limit
  std::string unavailable = {};  // why it cannot be made in this build; empty: it can
};

// All known environments: ours first, then those added by `register_environment`.
const std::vector<EnvInfo>& environments();

// Adds a user's environment. Not to be called while other threads make environments.
void register_environment(EnvInfo info);

// The environment with its time limit. Unknown or unavailable id: Error{config} at `env_id`.
std::unique_ptr<Environment> make_environment(const std::string& id);

}  // namespace rl_training
