#include <rl_training/rl_training.h>

#include <cmath>
#include <cstdio>

// Trains a few updates, evaluates and acts, using only the installed package.
int main(int argc, char** argv) {
  using namespace rl_training;
  Td3BcOptions options;
  options.hidden_sizes = {16};
  options.batch_size = 16;
  TrainConfig config;
  config.output_dir = argc > 1 ? argv[1] : "runs";
  config.total_timesteps = 10;
  config.eval_episodes = 2;
  config.dataset.source.size = 300;
  TD3BC agent("Pendulum-v1", options, config);
  const auto result = agent.learn();
  const double action = agent.predict({1.0, 0.0, 0.0}).at(0);
  const bool packaged = TD3BC::from_config("td3_bc/pendulum").config().env_id == "Pendulum-v1";
  std::printf("%lld updates, return %g, action %g\n",
              static_cast<long long>(result.summary.update_count), agent.evaluate(2).return_mean,
              action);
  return result.summary.update_count == 10 && std::abs(action) <= 2.0 && packaged ? 0 : 1;
}
