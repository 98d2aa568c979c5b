#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bench/contenders.h"

namespace rl_training {

// Random actions for one environment, and the initial states of its episodes. In each measurement,
// every contender replays them from the start, so that all contenders simulate the same motion.
struct StepScript {
  struct Start {
    int64_t step;  // the episode starts before this step
    std::vector<double> state;
  };
  std::string env_id;
  int64_t steps = 0, action_dim = 0;
  std::vector<double> actions;  // [steps, action_dim], in the environment's units
  std::vector<Start> starts;
};
StepScript make_step_script(const std::string& env_id, int64_t steps);

// Returns the CPU time of the calling thread, which other programs do not affect.
double thread_seconds();

// Calls Environment::step, and reset at the end of each episode. Measures CPU time.
std::unique_ptr<Contender> make_env_steps(const StepScript& script);
// Simulates the same motion with MuJoCo's own functions only. Measures CPU time. Returns null for
// tasks that do not use MuJoCo.
std::unique_ptr<Contender> make_raw_mujoco_steps(const StepScript& script);
// Calls VectorEnv::step on `threads` threads. The argument of seconds_for is the total number of
// steps of all copies. Measures wall time.
std::unique_ptr<Contender> make_vector_steps(const std::string& env_id, int64_t copies,
                                             int threads);

}  // namespace rl_training
