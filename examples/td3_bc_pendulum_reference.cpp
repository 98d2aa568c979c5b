// TD3+BC on Pendulum-v1, configured in code: trains on a generated dataset, prints returns during
// training, queries the policy for actions, saves the policy and loads it again.
//
//   example_td3_bc_pendulum [UPDATES [OUTPUT_DIR]]
#include <cstdio>
#include <cstdlib>

#include "rl_training/rl_training.h"

namespace {

using namespace rl_training;

Td3BcOptions algorithm_options() {
  Td3BcOptions options;
  options.hidden_sizes = {256, 256};
  options.batch_size = 256;
  options.learning_rate = 3e-4;
  // Larger values give the critics more weight; smaller values clone the data more closely.
  options.bc_alpha = 2.5;
  return options;
}

TrainConfig run_options(int64_t updates, const std::string& output_dir) {
  TrainConfig config;
  config.seed = 0;
  config.total_timesteps = updates;
  config.output_dir = output_dir;
  config.eval_episodes = 20;
  config.eval_interval = 1000;
  config.checkpoint_interval = 1000;
  // A generated dataset. To read transitions from a file, set the kind to d4rl, minari, npz or csv,
  // and set `path`.
  config.dataset.source.kind = "recipe";
  config.dataset.source.id = "pendulum/medium";
  return config;
}

Callbacks progress_printer() {
  Callbacks callbacks;
  callbacks.on_eval_end = [](const TrainProgress& progress, const EvaluationResult& result) {
    std::printf("update %6lld  return %8.1f +- %.1f\n",
                static_cast<long long>(progress.update_count), result.return_mean,
                result.return_std);
  };
  return callbacks;
}

void run(int64_t updates, const std::string& output_dir) {
  TD3BC agent("Pendulum-v1", algorithm_options(), run_options(updates, output_dir));
  const RunResult result = agent.learn(progress_printer());
  std::printf("trained %lld updates (%s) in %s\n",
              static_cast<long long>(result.summary.update_count),
              result.summary.stop_reason.c_str(), result.run_dir.c_str());

  const EvaluationResult evaluation = agent.evaluate(/*episodes=*/50, /*seed=*/1);
  std::printf("50 fresh episodes: return %.1f +- %.1f\n", evaluation.return_mean,
              evaluation.return_std);

  // The observation consists of cos(angle), sin(angle) and the angular velocity of the rod. The
  // action is a torque.
  const std::vector<double> hanging = {-1.0, 0.0, 0.0};
  std::printf("torque when hanging still: %.3f\n", agent.predict(hanging)[0]);

  const std::string policy = output_dir + "/pendulum_policy";
  agent.save(policy);
  TD3BC loaded = TD3BC::load(policy);
  std::printf("the same from %s: %.3f\n", policy.c_str(), loaded.predict(hanging)[0]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoll(argv[1]) : 10000, argc > 2 ? argv[2] : "runs");
    return 0;
  } catch (const rl_training::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return error.exit_code();
  }
}
