#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/envs/env_options.h"
#include "rl_training/envs/environment.h"

namespace rl_training {

// Environments that are created together and stepped as a group.
struct EnvGroup {
  std::function<int64_t()> size;
  std::function<std::vector<std::unique_ptr<Environment>>()> make;  // with their own time limits
};

struct EnvInfo {
  std::string id, summary;
  std::function<std::unique_ptr<Environment>()> make;  // the bare task, without its time limit
  std::string unavailable = {};  // why this build lacks the environment; empty if it is available
  std::optional<EnvGroup> group = {};  // if set, `make` only serves to obtain the spec
};

// All known environments: the built-in ones, then those added by `register_environment`.
const std::vector<EnvInfo>& environments();

// Adds a user's environment. Throws Error{config} if the id is already registered. Must not be
// called while other threads create environments.
void register_environment(EnvInfo info);

// Returns null for an unknown id.
const EnvInfo* find_environment(const std::string& id);

// Creates an environment with the time limit and the pixel wrapper of `options`; the collector
// applies the reward transform. Throws Error{config} at `env_id` for an unknown or unavailable id,
// and at `env_kwargs` for an unknown key or a bad value.
std::unique_ptr<Environment> make_environment(const std::string& id,
                                              const EnvOptions& options = {});

// Returns the number of copies in a group, or 0 if the environment has no groups. Without groups,
// any number of copies is allowed.
int64_t group_size(const std::string& id);
// Creates `count` copies, or one group if the environment has groups. In the latter case, throws
// Error{config} at `num_envs` if `count` is not the size of a group, and at `env_kwargs` if
// `options` contains a time limit or the pixel wrapper.
std::vector<std::unique_ptr<Environment>> make_environments(const std::string& id, int64_t count,
                                                            const EnvOptions& options = {});

// Sets the options of the task itself. `values` must not contain options of the wrappers.
void set_task_options(Environment& task, const Json& values);

}  // namespace rl_training
