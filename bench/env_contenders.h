#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bench/contenders.h"

namespace rl_training {

// Random actions for one environment, and the states in which its episodes begin. Every contender
// replays them from the start in each turn, so that all simulate the same motion.
struct StepScript {
  struct Start {
    int64_t step;  // the episode begins before this step
    std::vector<double> state;
  };
  std::string env_id;
  int64_t steps = 0, action_dim = 0;
  std::vector<double> actions;  // [steps, action_dim], in the environment's units
  std::vector<Start> starts;
};
StepScript make_step_script(const std::string& env_id, int64_t steps);

// CPU time of the calling thread, which excludes other programs.
double thread_seconds();

// Environment::step with its resets. CPU time.
std::unique_ptr<Contender> make_env_steps(const StepScript& script);
// Only MuJoCo's own functions, for the same motion. CPU time. Null for tasks without MuJoCo.
std::unique_ptr<Contender> make_raw_mujoco_steps(const StepScript& script);
// VectorEnv::step on `threads` threads; `work` counts the steps of all copies. Wall time.
std::unique_ptr<Contender> make_vector_steps(const std::string& env_id, int64_t copies,
                                             int threads);

}  // namespace rl_training
