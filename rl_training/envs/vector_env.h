#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rl_training/envs/env_options.h"
#include "rl_training/envs/environment.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {

// Several copies of one environment that are stepped together. When an episode ends, the next
// episode starts immediately: `final_obs` is then the last observation of the old episode, and
// `obs` is the first observation of the new episode. In all other steps, both are the observation
// after the step. Copies of a group (EnvGroup) may instead start the next episode in the next step;
// see `restarted`. Each copy draws from its own random stream, so results do not depend on the
// number of threads. The thread pool is not used if stepping all copies takes less time than waking
// a thread.
class VectorEnv {
 public:
  // Copy i uses the random stream "<purpose>/<first + i>". `pool` may be null.
  VectorEnv(const std::string& id, int64_t count, uint64_t seed, std::string_view purpose,
            ThreadPool* pool, const EnvOptions& options = {}, int64_t first = 0);

  int64_t count() const { return static_cast<int64_t>(slots_.size()); }
  const EnvSpec& spec() const { return spec_; }

  // Null for tasks without goals.
  const GoalTask* goal_task() const { return slots_.front().env->goal_task(); }

  void reset();
  void reset_one(int64_t i);
  // Skips copy i in later steps, until it is reset. Has no effect on the copies of a group. Only
  // evaluations may call this, because visit_state does not save which copies rest.
  void rest(int64_t i) { slots_[i].resting = true; }
  // Actions [count, A] in [-1, 1], which are clipped and scaled to the environment's units.
  void step(std::span<const float> actions_unit);
  // Discrete actions, one per environment.
  void step(std::span<const int64_t> choices);

  // The observation of environment i, in the dtype of the observation space.
  const unsigned char* obs_of(int64_t i) const { return obs_.data() + i * obs_bytes_; }
  const unsigned char* final_obs_of(int64_t i) const { return final_obs_.data() + i * obs_bytes_; }
  // All observations, [count, O]. Valid only for float32 observations.
  std::span<const float> obs() const { return floats(obs_); }
  std::span<const float> final_obs() const { return floats(final_obs_); }
  std::span<const double> rewards() const { return rewards_; }
  std::span<const uint8_t> terminated() const { return terminated_; }
  std::span<const uint8_t> truncated() const { return truncated_; }
  // 1 for copies whose step only started an episode and is not a transition.
  std::span<const uint8_t> restarted() const { return restarted_; }

  void visit_state(StateVisitor& state);

 private:
  struct Slot {
    std::unique_ptr<Environment> env;
    Rng rng;
    std::vector<double> obs, action;
    bool resting = false;

    void visit_state(StateVisitor& state);
  };

  static std::span<const float> floats(const std::vector<unsigned char>& bytes) {
    return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  // For every environment i, calls `choose_action(i)`, which fills the action of slot i, then steps
  // the environment.
  template <class ChooseAction>
  void step_all(const ChooseAction& choose_action);
  void step_one(int64_t i);
  void check_finite(const Slot& slot, double reward) const;
  void store_obs(const Slot& slot, int64_t i, std::vector<unsigned char>& out) const;

  std::vector<Slot> slots_;
  EnvSpec spec_;
  ThreadPool* pool_;
  int probes_left_ = 8;         // number of initial steps that are timed without threads
  double fastest_probe_ = 1e9;  // in seconds; the minimum is the least disturbed measurement
  int64_t obs_bytes_;
  std::vector<unsigned char> obs_, final_obs_;
  std::vector<double> rewards_;
  std::vector<uint8_t> terminated_, truncated_, restarted_;
};

}  // namespace rl_training
