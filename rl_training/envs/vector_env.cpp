#include "rl_training/envs/vector_env.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "rl_training/envs/registry.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr double kWorthThreads = 30e-6;  // seconds for a step of all copies
// So many copies are shared out one by one. More are cut into one part for each thread, most often
// the same one in every step: what a cheap copy needs is then still in that thread's cache.
constexpr int64_t kCopiesOneByOne = 64;

}  // namespace

VectorEnv::VectorEnv(const std::string& id, int64_t count, uint64_t seed, std::string_view purpose,
                     ThreadPool* pool, const EnvOptions& options)
    : pool_(pool) {
  if (count < 1) throw Error(ErrorKind::internal, "a vector of environments needs at least one");
  for (int64_t i = 0; i < count; ++i) {
    slots_.push_back({make_environment(id, options),
                      Rng(seed, std::string(purpose) + "/" + std::to_string(i)),
                      {},
                      {}});
  }
  spec_ = slots_.front().env->spec();
  for (Slot& slot : slots_) {
    slot.obs.resize(static_cast<size_t>(spec_.obs_dim));
    slot.action.resize(static_cast<size_t>(spec_.action.dims()));
  }
  obs_.resize(static_cast<size_t>(count * spec_.obs_dim));
  final_obs_.resize(obs_.size());
  rewards_.resize(static_cast<size_t>(count));
  terminated_.resize(rewards_.size());
  truncated_.resize(rewards_.size());
}

void VectorEnv::reset() {
  for (int64_t i = 0; i < count(); ++i) reset_one(i);
}

void VectorEnv::reset_one(int64_t i) {
  Slot& slot = slots_[i];
  slot.env->reset(slot.rng, slot.obs);
  store_obs(slot, i, obs_);
  store_obs(slot, i, final_obs_);
  rewards_[i] = 0;
  terminated_[i] = truncated_[i] = 0;
}

void VectorEnv::step(std::span<const float> actions_unit) {
  const int64_t dims = spec_.action.dims();
  if (static_cast<int64_t>(actions_unit.size()) != count() * dims) {
    throw Error(ErrorKind::internal, "one action for each environment is needed");
  }
  const auto step_copies = [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      step_one(i, actions_unit.subspan(static_cast<size_t>(i * dims), static_cast<size_t>(dims)));
    }
  };
  if (pool_ && probes_left_ == 0 && fastest_probe_ > kWorthThreads) {
    const int64_t tasks = count() <= kCopiesOneByOne ? count() : pool_->size();
    pool_->run(tasks, [&](int64_t task) {
      step_copies(task * count() / tasks, (task + 1) * count() / tasks);
    });
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  step_copies(0, count());
  if (probes_left_ > 0) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    fastest_probe_ = std::min(fastest_probe_, taken.count());
    --probes_left_;
  }
}

void VectorEnv::step_one(int64_t i, std::span<const float> action_unit) {
  Slot& slot = slots_[i];
  for (size_t k = 0; k < action_unit.size(); ++k) {
    // A broken network must not fill the replay buffer with NaN.
    if (!std::isfinite(action_unit[k])) {
      throw Error(ErrorKind::diverged, spec_.id + ": an action is not finite");
    }
    const double clipped = std::clamp(action_unit[k], -1.0f, 1.0f);
    slot.action[k] = spec_.action.from_unit(static_cast<int64_t>(k), clipped);
  }
  const StepResult result = slot.env->step(slot.action, slot.obs);
  rewards_[i] = result.reward;
  terminated_[i] = result.terminated ? 1 : 0;
  truncated_[i] = result.truncated ? 1 : 0;
  store_obs(slot, i, final_obs_);
  if (result.terminated || result.truncated) slot.env->reset(slot.rng, slot.obs);
  store_obs(slot, i, obs_);
}

void VectorEnv::store_obs(const Slot& slot, int64_t i, std::vector<float>& out) {
  std::transform(slot.obs.begin(), slot.obs.end(), out.begin() + i * spec_.obs_dim,
                 [](double value) { return static_cast<float>(value); });
}

void VectorEnv::Slot::visit_state(StateVisitor& state) {
  state.part("env", *env);
  state.part("rng", rng);
}

void VectorEnv::visit_state(StateVisitor& state) {
  for (int64_t i = 0; i < count(); ++i) state.part(std::to_string(i), slots_[i]);
  const std::array<int64_t, 2> matrix = {count(), spec_.obs_dim};
  const std::array<int64_t, 1> vector = {count()};
  state.array("obs", DType::f32, matrix, obs_.data());
  state.array("final_obs", DType::f32, matrix, final_obs_.data());
  state.array("rewards", DType::f64, vector, rewards_.data());
  state.array("terminated", DType::u8, vector, terminated_.data());
  state.array("truncated", DType::u8, vector, truncated_.data());
}

}  // namespace rl_training
