#include "rl_training/envs/version_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "rl_training/envs/registry.h"

namespace rl_training {
namespace {

constexpr int64_t kMostTransitions = 100;
constexpr int64_t kFewestTransitions = 20;  // too few to judge a task by
// Largest difference between equal observations, relative to the spread of a value. The rounding of
// recorded values to float32 causes smaller differences, another simulator larger ones.
constexpr double kTolerance = 2e-4;

// The state of many tasks consists of values that are not observed, such as the position of a body
// on the ground, and the observation. No force depends on the hidden values, so they are set to 0.
class Replayer {
 public:
  explicit Replayer(Environment& env) : env_(env) {
    const auto& spec = env.spec();
    if (spec.observation.is_image() || spec.one_thread || spec.steps_together) return;
    next_.resize(static_cast<size_t>(spec.observation.size()));
    Rng rng(0);
    env.reset(rng, next_);
    const size_t state = env.state().size();
    if (state < next_.size()) return;
    hidden_ = state - next_.size();
    works_ = reproduces_itself(rng);
  }

  bool works() const { return works_; }

  // The observation after `action`, which is in the units of the task.
  const std::vector<double>& successor(const std::vector<double>& obs,
                                       const std::vector<double>& action) {
    std::vector<double> state(hidden_, 0.0);
    state.insert(state.end(), obs.begin(), obs.end());
    env_.set_state(state);
    env_.step(action, next_);
    return next_;
  }

 private:
  // Whether a few random steps of the task can be replayed from their observations. Actions are
  // small, because some tasks observe velocities only up to a bound.
  bool reproduces_itself(Rng& rng) {
    const Space& space = env_.spec().action;
    for (int step = 0; step < 5; ++step) {
      std::vector<double> action;
      if (space.is_discrete()) {
        action.push_back(static_cast<double>(rng.below(static_cast<uint64_t>(space.categories))));
      }
      for (int64_t k = 0; !space.is_discrete() && k < space.size(); ++k) {
        action.push_back(space.from_unit(k, rng.uniform(-0.1, 0.1)));
      }
      const std::vector<double> before = next_;
      env_.step(action, next_);
      const std::vector<double> after = next_, again = successor(before, action);
      for (size_t i = 0; i < after.size(); ++i) {
        if (!(std::abs(after[i] - again[i]) <= 1e-6 * (1 + std::abs(after[i])))) return false;
      }
    }
    return true;
  }

  Environment& env_;
  size_t hidden_ = 0;
  bool works_ = false;
  std::vector<double> next_;
};

std::vector<int64_t> sampled_rows(const TransitionDataset& data) {
  std::vector<int64_t> rows;
  const int64_t count = std::min(kMostTransitions, data.rows());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i * data.rows() / count;
    // Some files do not contain the observation after a termination.
    if (!data.terminated(row)) rows.push_back(row);
  }
  return rows;
}

std::vector<double> deviations(const TransitionDataset& data, const std::vector<int64_t>& rows) {
  std::vector<double> all;
  const auto count = static_cast<double>(rows.size());
  for (int64_t k = 0; k < data.obs_dim(); ++k) {
    double sum = 0, squares = 0;
    for (const int64_t row : rows) {
      const double value = data.next_obs(row)[k];
      sum += value;
      squares += value * value;
    }
    all.push_back(std::sqrt(std::max(squares / count - sum * sum / (count * count), 0.0)));
  }
  return all;
}

// The id without its version: "Hopper" for "Hopper-v4".
std::string family(const std::string& id) { return id.substr(0, id.rfind("-v")); }

}  // namespace

Reproduced reproduce_transitions(Environment& env, const TransitionDataset& data) {
  Reproduced found;
  if (data.obs_space().is_image()) return found;
  Replayer replayer(env);
  const auto rows = sampled_rows(data);
  if (!replayer.works() || rows.empty()) return found;
  const auto spread = deviations(data, rows);
  const Space& space = env.spec().action;
  for (const int64_t row : rows) {
    const std::vector<double> obs(data.obs(row), data.obs(row) + data.obs_dim());
    std::vector<double> action;
    for (int64_t k = 0; k < data.action_dim(); ++k) {
      const double value = data.action_value(row, k);
      action.push_back(space.is_discrete() ? value : space.from_unit(k, value));
    }
    const auto& next = replayer.successor(obs, action);
    bool equal = true;
    for (size_t k = 0; k < next.size(); ++k) {
      const double recorded = data.next_obs(row)[k];
      const double allowed = kTolerance * spread[k] + 1e-6 * (1 + std::abs(recorded));
      equal = equal && std::abs(next[k] - recorded) <= allowed;
    }
    ++found.compared;
    if (equal) ++found.equal;
  }
  return found;
}

std::string other_version_warning(const std::string& env_id, const EnvOptions& options,
                                  const TransitionDataset& data) {
  std::vector<std::string> others;
  for (const EnvInfo& info : environments()) {
    if (info.id != env_id && family(info.id) == family(env_id) && info.unavailable.empty()) {
      others.push_back(info.id);
    }
  }
  if (others.empty()) return "";
  const Reproduced own = reproduce_transitions(*make_environment(env_id, options), data);
  if (own.compared < kFewestTransitions || own.mostly()) return "";
  for (const std::string& id : others) {
    const auto other = make_environment(id);
    if (other->spec().observation.size() != data.obs_dim()) continue;
    const Reproduced found = reproduce_transitions(*other, data);
    if (found.compared < kFewestTransitions || !found.mostly()) continue;
    return fmt::format(
        "{} reproduces {} of {} recorded transitions, and the config's env_id {} reproduces {}: "
        "returns in {} are not comparable with the data",
        id, found.equal, found.compared, env_id, own.equal, env_id);
  }
  return "";
}

}  // namespace rl_training
