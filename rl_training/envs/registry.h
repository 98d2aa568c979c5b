#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rl_training/envs/env_options.h"
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

// Null if there is none of that name.
const EnvInfo* find_environment(const std::string& id);

// The environment with its time limit, or that of `options`; their reward transform is the
// collector's business. Unknown or unavailable id: Error{config} at `env_id`; a key that the task
// does not have, or a bad value: Error{config} at `env_kwargs`.
std::unique_ptr<Environment> make_environment(const std::string& id,
                                              const EnvOptions& options = {});

// Gives a bare task the values of its own keys.
void set_task_options(Environment& task, const Json& values);

}  // namespace rl_training
