// A program with the whole command line of rl_training, extended by its own environment and
// algorithm:
//   own_program train --config cart.yaml      (algo: linear_bc, env_id: Cart-v0)
//   own_program evaluate RUN, resume RUN, predict RUN, render RUN, dataset collect, report ...
#include <cmath>

#include "rl_training/program.h"
#include "rl_training/rl_training.h"

namespace {

using namespace rl_training;

// The task is to keep a cart at the origin of a track.
class Cart final : public Environment {
 public:
  Cart() {
    spec_.id = "Cart-v0";
    spec_.observation = Space::unbounded(2);
    spec_.action = Space::box({-1}, {1});
    spec_.max_episode_steps = 50;
    spec_.summary = "keep a cart at the origin";
  }
  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override {
    x_ = rng.uniform(-1, 1);
    speed_ = 0;
    observe(obs);
  }
  StepResult step(std::span<const double> action, std::span<double> obs) override {
    speed_ = 0.9 * speed_ + 0.1 * action[0];
    x_ += 0.1 * speed_;
    observe(obs);
    return {-x_ * x_, std::abs(x_) > 5, false};  // reward, terminated, truncated
  }
  void observe(std::span<double> obs) const override { obs[0] = x_, obs[1] = speed_; }
  std::vector<double> state() const override { return {x_, speed_}; }
  void set_state(std::span<const double> state) override { x_ = state[0], speed_ = state[1]; }
  void visit_state(StateVisitor& state) override {  // everything that changes, for exact resume
    state.scalar("x", x_);
    state.scalar("speed", speed_);
  }
  Scene scene() const override {
    return {{-2, -0.5}, {2, 0.5}, {{{{x_ - 0.1, 0}, {x_ + 0.1, 0}}, {0.8, 0.3, 0.3}, 0.2}}};
  }

 private:
  EnvSpec spec_;
  double x_ = 0, speed_ = 0;
};

struct LinearBcOptions : AlgorithmOptions {
  static constexpr const char* kName = "linear_bc";
  void visit_options(OptionVisitor& options) override { visit_supervised_options(options); }
  BatchRequest request() const override {
    auto request = AlgorithmOptions::request();
    request.columns = {BatchColumn::obs, BatchColumn::action};
    return request;
  }
};

struct CloningLoss {
  torch::Tensor loss;
  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("bc_loss", loss);
  }
};

// Clones the actions of the data with a single linear layer.
class LinearBc final : public Algorithm {
 public:
  LinearBc(const LinearBcOptions& options, const AlgorithmContext& context)
      : LinearBc(options, context, Rng(context.seed, "init")) {}

  // L = mse(tanh(W s + b), a)
  Metrics update(const Batch& batch, double lr_scale) override {
    const CloningLoss cloning{torch::mse_loss(actor_.actions(batch.obs()), batch.actions())};
    minimize(cloning.loss, optimizer_, lr_scale);
    return metrics_of(cloning);
  }
  torch::Tensor act(const torch::Tensor& obs, PolicyState&, ActMode) override {
    const torch::NoGradGuard no_grad;
    return actor_.actions(obs);
  }
  void visit_state(StateVisitor& state) override {
    state.part("actor", actor_);
    state.part("optimizer", optimizer_);
  }

 private:
  LinearBc(const LinearBcOptions& options, const AlgorithmContext& context, Rng rng)
      : actor_(context.obs_dim(), context.action_dim(), {.hidden_sizes = {}}, rng, context.compute),
        optimizer_(actor_.network(), {.learning_rate = options.learning_rate}, context.compute) {}

  DeterministicActor actor_;
  Adam optimizer_;
};

}  // namespace

int main(int argc, char** argv) {
  register_environment(
      {"Cart-v0", "keep a cart at the origin", [] { return std::make_unique<Cart>(); }});
  register_algorithm(algorithm_info<LinearBc, LinearBcOptions>(
      {.name = LinearBcOptions::kName,
       .title = "Linear BC: one linear layer that clones the data",
       .paper = "",
       .metrics = metric_names_of<CloningLoss>()}));
  return run_program(argc, argv);
}
