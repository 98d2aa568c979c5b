#include "rl_training/envs/vector_env.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "rl_training/envs/registry.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// Threads are used if stepping all copies on one thread takes longer than this many seconds.
constexpr double kWorthThreads = 30e-6;
// Up to this many copies are distributed to the threads one by one. If there are more copies, they
// are split into one part per thread: a thread usually gets the same part in every step, so its
// copies are still in its cache.
constexpr int64_t kCopiesOneByOne = 64;

}  // namespace

VectorEnv::VectorEnv(const std::string& id, int64_t count, uint64_t seed, std::string_view purpose,
                     ThreadPool* pool, const EnvOptions& options, int64_t first)
    : pool_(pool) {
  if (count < 1) throw Error(ErrorKind::internal, "a vector of environments needs at least one");
  auto copies = make_environments(id, count, options);
  for (size_t i = 0; i < copies.size(); ++i) {
    const auto number = std::to_string(first + static_cast<int64_t>(i));
    slots_.push_back(
        {std::move(copies[i]), Rng(seed, std::string(purpose) + "/" + number), {}, {}});
  }
  spec_ = slots_.front().env->spec();
  if (spec_.one_thread) pool_ = nullptr;
  for (Slot& slot : slots_) {
    if (!spec_.observation.is_image()) {
      slot.obs.resize(static_cast<size_t>(spec_.observation.size()));
    }
    slot.action.resize(static_cast<size_t>(spec_.action.size()));
  }
  obs_bytes_ = spec_.observation.bytes();
  obs_.resize(static_cast<size_t>(count * obs_bytes_));
  final_obs_.resize(obs_.size());
  rewards_.resize(static_cast<size_t>(count));
  terminated_.resize(rewards_.size());
  truncated_.resize(rewards_.size());
  restarted_.resize(rewards_.size());
}

void VectorEnv::reset() {
  for (int64_t i = 0; i < count(); ++i) reset_one(i);
}

void VectorEnv::reset_one(int64_t i) {
  Slot& slot = slots_[i];
  slot.resting = false;
  slot.env->reset(slot.rng, slot.obs);
  store_obs(slot, i, obs_);
  store_obs(slot, i, final_obs_);
  rewards_[i] = 0;
  terminated_[i] = truncated_[i] = restarted_[i] = 0;
}

void VectorEnv::step(std::span<const float> actions_unit) {
  const auto dims = static_cast<size_t>(spec_.action.size());
  if (spec_.action.is_discrete() || actions_unit.size() != slots_.size() * dims) {
    throw Error(ErrorKind::internal, "one action for each environment is needed");
  }
  step_all([&](int64_t i) {
    const auto unit = actions_unit.subspan(static_cast<size_t>(i) * dims, dims);
    for (size_t k = 0; k < dims; ++k) {
      // NaN from a diverged network must not reach the replay buffer.
      if (!std::isfinite(unit[k])) {
        throw Error(ErrorKind::diverged, spec_.id + ": an action is not finite");
      }
      const double clipped = std::clamp(unit[k], -1.0f, 1.0f);
      slots_[i].action[k] = spec_.action.from_unit(static_cast<int64_t>(k), clipped);
    }
  });
}

void VectorEnv::step(std::span<const int64_t> choices) {
  if (!spec_.action.is_discrete() || choices.size() != slots_.size()) {
    throw Error(ErrorKind::internal, "one action for each environment is needed");
  }
  step_all([&](int64_t i) {
    const int64_t choice = choices[static_cast<size_t>(i)];
    if (choice < 0 || choice >= spec_.action.categories) {
      throw Error(ErrorKind::internal, spec_.id + ": no such action: " + std::to_string(choice));
    }
    slots_[i].action[0] = static_cast<double>(choice);
  });
}

template <class ChooseAction>
void VectorEnv::step_all(const ChooseAction& choose_action) {
  if (spec_.steps_together) {
    for (int64_t i = 0; i < count(); ++i) {
      choose_action(i);
      slots_[i].env->prepare(slots_[i].action);
    }
    for (int64_t i = 0; i < count(); ++i) step_one(i);
    return;
  }
  const auto step_copies = [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      if (slots_[i].resting) continue;
      choose_action(i);
      step_one(i);
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

// Observations and rewards are stored as float32 in replay buffers and checkpoints, so they must be
// finite as float32.
void VectorEnv::check_finite(const Slot& slot, double reward) const {
  if (!std::isfinite(static_cast<float>(reward))) {
    throw Error(ErrorKind::diverged, spec_.id + ": the reward of a step is not finite (got " +
                                         std::to_string(reward) + ")");
  }
  for (size_t k = 0; k < slot.obs.size(); ++k) {
    if (std::isfinite(static_cast<float>(slot.obs[k]))) continue;
    throw Error(ErrorKind::diverged, spec_.id + ": observation " + std::to_string(k) +
                                         " of a step is not finite (got " +
                                         std::to_string(slot.obs[k]) + ")");
  }
}

void VectorEnv::step_one(int64_t i) {
  Slot& slot = slots_[i];
  const StepResult result = slot.env->step(slot.action, slot.obs);
  check_finite(slot, result.reward);
  rewards_[i] = result.reward;
  terminated_[i] = result.terminated ? 1 : 0;
  truncated_[i] = result.truncated ? 1 : 0;
  restarted_[i] = result.restarted ? 1 : 0;
  store_obs(slot, i, final_obs_);
  if (result.terminated || result.truncated) slot.env->reset(slot.rng, slot.obs);
  store_obs(slot, i, obs_);
}

void VectorEnv::store_obs(const Slot& slot, int64_t i, std::vector<unsigned char>& out) const {
  unsigned char* at = out.data() + i * obs_bytes_;
  if (spec_.observation.is_image()) {
    slot.env->observe_pixels({at, static_cast<size_t>(obs_bytes_)});
    return;
  }
  std::transform(slot.obs.begin(), slot.obs.end(), reinterpret_cast<float*>(at),
                 [](double value) { return static_cast<float>(value); });
}

void VectorEnv::Slot::visit_state(StateVisitor& state) {
  state.part("env", *env);
  state.part("rng", rng);
}

void VectorEnv::visit_state(StateVisitor& state) {
  for (int64_t i = 0; i < count(); ++i) state.part(std::to_string(i), slots_[i]);
  const std::array<int64_t, 2> matrix = {count(), spec_.observation.size()};
  const std::array<int64_t, 1> vector = {count()};
  state.array("obs", spec_.observation.dtype, matrix, obs_.data());
  state.array("final_obs", spec_.observation.dtype, matrix, final_obs_.data());
  state.array("rewards", DType::f64, vector, rewards_.data());
  state.array("terminated", DType::u8, vector, terminated_.data());
  state.array("truncated", DType::u8, vector, truncated_.data());
}

}  // namespace rl_training
