#include "rl_training/envs/registry.h"

#include <utility>

#include "rl_training/envs/pendulum.h"
#include "rl_training/envs/time_limit.h"
#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

template <class Task>
EnvInfo listed() {
  const EnvSpec spec = Task().spec();
  return {spec.id, spec.summary, [] { return std::make_unique<Task>(); }};
}

std::vector<EnvInfo>& table() {
  static std::vector<EnvInfo> entries = {
      listed<Pendulum>(),
  };
  return entries;
}

}  // namespace

const std::vector<EnvInfo>& environments() { return table(); }

void register_environment(EnvInfo info) {
  for (const EnvInfo& known : table()) {
    if (known.id == info.id) {
      throw Error(ErrorKind::config, {"", 0, "env_id"},
                  "an environment of this name is registered already (got `" + info.id + "`)");
    }
  }
  table().push_back(std::move(info));
}

std::unique_ptr<Environment> make_environment(const std::string& id) {
  std::vector<std::string> ids;
  for (const EnvInfo& info : table()) {
    if (info.id == id) {
      auto task = info.make();
      const int64_t limit = task->spec().max_episode_steps;
      if (limit <= 0) return task;
      return std::make_unique<TimeLimit>(std::move(task), limit);
    }
    ids.push_back(info.id);
  }
  throw Error(ErrorKind::config, {"", 0, "env_id"},
              "unknown environment (expected one of " + join(ids, ", ") + ", got `" + id + "`" +
                  did_you_mean(id, ids) + ")");
}

}  // namespace rl_training
