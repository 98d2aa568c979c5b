#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/envs/env_options.h"
#include "rl_training/envs/environment.h"

namespace rl_training {

// Environments that are stepped as a group and exist only together.
struct EnvGroup {
  std::function<int64_t()> size;
  std::function<std::vector<std::unique_ptr<Environment>>()> make;  // with their own time limits
};

struct EnvInfo {
  std::string id, summary;
  std::function<std::unique_ptr<Environment>()> make;  // the bare task, without its time limit
  std::string unavailable = {};        // why it is not available in this build; empty: it is
  std::optional<EnvGroup> group = {};  // if set, the result of `make` only provides the spec
};

// All known environments: those of the library, then those added by `register_environment`.
const std::vector<EnvInfo>& environments();

// Adds a user's environment. Must not be called while other threads create environments.
void register_environment(EnvInfo info);

// Null if there is none of that name.
const EnvInfo* find_environment(const std::string& id);

// Creates an environment with the time limit and the pixel wrapper of `options`; the collector
// applies the reward transform. Throws Error{config} at `env_id` for an unknown or unavailable id,
// and at `env_kwargs` for an unknown key or a bad value.
std::unique_ptr<Environment> make_environment(const std::string& id,
                                              const EnvOptions& options = {});

// Number of copies that exist together; 0: any number.
int64_t group_size(const std::string& id);
// Creates `count` copies. Throws Error{config} at `num_envs` if copies exist only in groups of
// another size.
std::vector<std::unique_ptr<Environment>> make_environments(const std::string& id, int64_t count,
                                                            const EnvOptions& options = {});

// Sets the task's own keys.
void set_task_options(Environment& task, const Json& values);

}  // namespace rl_training
