#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/envs/env_options.h"
#include "rl_training/envs/environment.h"

namespace rl_training {

// Copies that are stepped as one and exist only all together.
struct EnvGroup {
  std::function<int64_t()> size;
  std::function<std::vector<std::unique_ptr<Environment>>()> make;  // with their own time limits
};

struct EnvInfo {
  std::string id, summary;
  std::function<std::unique_ptr<Environment>()> make;  // the bare task, without its time limit
  std::string unavailable = {};        // why it cannot be made in this build; empty: it can
  std::optional<EnvGroup> group = {};  // if there is one, `make` gives what has a spec alone
};

// All known environments: ours first, then those added by `register_environment`.
const std::vector<EnvInfo>& environments();

// Adds a user's environment. Not to be called while other threads make environments.
void register_environment(EnvInfo info);

// Null if there is none of that name.
const EnvInfo* find_environment(const std::string& id);

// The environment with its time limit, or that of `options`, and their pixels; their reward
// transform is the collector's business. Unknown or unavailable id: Error{config} at `env_id`; a
// key that the task does not have, or a bad value: Error{config} at `env_kwargs`.
std::unique_ptr<Environment> make_environment(const std::string& id,
                                              const EnvOptions& options = {});

// How many copies exist together; 0: as many as are asked for.
int64_t group_size(const std::string& id);
// `count` copies. Error{config} at `num_envs` if they exist together in another number.
std::vector<std::unique_ptr<Environment>> make_environments(const std::string& id, int64_t count,
                                                            const EnvOptions& options = {});

// Gives a bare task the values of its own keys.
void set_task_options(Environment& task, const Json& values);

}  // namespace rl_training
