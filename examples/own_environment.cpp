// Registers a custom environment from outside the library and trains on it. The data consists of
// random episodes of the environment itself.
//
//   example_own_environment [UPDATES [OUTPUT_DIR]]
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "rl_training/rl_training.h"

namespace {

using namespace rl_training;

// The task is to keep a cart at the origin of a track. The action is the force of its motor, and
// `env_kwargs.friction` slows the cart down.
class Cart final : public Environment {
 public:
  Cart() {
    spec_.id = "Cart-v0";
    spec_.observation = Space::unbounded(2);
    spec_.action = Space::box({-1}, {1});
    spec_.max_episode_steps = 100;
    spec_.summary = "keep a cart at the origin";
  }
  const EnvSpec& spec() const override { return spec_; }
  void visit_options(OptionVisitor& options) override {
    options.number("friction", friction_, between(0, 1), "share of the speed lost in a step");
  }
  void reset(Rng& rng, std::span<double> obs) override {
    x_ = rng.uniform(-1, 1);
    speed_ = 0;
    observe(obs);
  }
  StepResult step(std::span<const double> action, std::span<double> obs) override {
    speed_ = (1 - friction_) * speed_ + 0.1 * action[0];
    x_ += 0.1 * speed_;
    observe(obs);
    return {-x_ * x_, std::abs(x_) > 5, false};  // reward, terminated, truncated
  }
  void observe(std::span<double> obs) const override {
    obs[0] = x_;
    obs[1] = speed_;
  }
  std::vector<double> state() const override { return {x_, speed_}; }
  void set_state(std::span<const double> state) override { x_ = state[0], speed_ = state[1]; }
  void visit_state(StateVisitor& state) override {  // everything that changes, for exact resume
    state.scalar("x", x_);
    state.scalar("speed", speed_);
  }
  Scene scene() const override {  // optional: what `render` draws
    return {{-2, -0.5},
            {2, 0.5},
            {{{{-5, 0}, {5, 0}}, {0.7, 0.7, 0.7}, 0.02},
             {{{x_ - 0.1, 0.1}, {x_ + 0.1, 0.1}}, {0.8, 0.3, 0.3}, 0.2}}};
  }

 private:
  EnvSpec spec_;
  double friction_ = 0.1, x_ = 0, speed_ = 0;
};

void run(int64_t updates, const std::string& output_dir) {
  register_environment(
      {"Cart-v0", "keep a cart at the origin", [] { return std::make_unique<Cart>(); }});
  TrainConfig config = default_config("td3_bc");
  config.env_id = "Cart-v0";
  config.env.task = {{"friction", 0.05}};  // in a config file: `env_kwargs: {friction: 0.05}`
  config.total_timesteps = updates;
  config.eval_interval = std::max<int64_t>(updates, 1);
  config.output_dir = output_dir;
  config.dataset.source.kind = "random";
  config.dataset.source.size = 10000;

  Agent agent(config);
  const double before = agent.evaluate().return_mean;
  const RunResult result = agent.learn();
  std::printf("trained %lld updates on Cart-v0: return %.2f before, %.2f after\n",
              static_cast<long long>(result.summary.update_count), before,
              agent.evaluate().return_mean);
  std::printf("push at x = 1: %.2f, at x = -1: %.2f\n", agent.predict({1, 0})[0],
              agent.predict({-1, 0})[0]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoll(argv[1]) : 5000, argc > 2 ? argv[2] : "runs");
    return 0;
  } catch (const rl_training::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return error.exit_code();
  }
}
