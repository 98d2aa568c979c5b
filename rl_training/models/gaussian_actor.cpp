#include "rl_training/models/gaussian_actor.h"

namespace rl_training {
namespace {

MlpSpec actor_spec(int64_t obs_dim, int64_t action_dim, const GaussianActor::Options& options) {
  MlpSpec spec;
  spec.inputs = obs_dim;
  spec.outputs = options.state_dependent_std ? 2 * action_dim : action_dim;
  spec.hidden_sizes = options.hidden_sizes;
  spec.output_activation = options.tanh_mean ? Activation::tanh : Activation::none;
  spec.layer_norm = options.layer_norm;
  spec.layer_norm_eps = options.layer_norm_eps;
  spec.hidden_init = options.hidden_init;
  spec.output_init = options.output_init;
  return spec;
}

}  // namespace

GaussianActor::GaussianActor(int64_t obs_dim, int64_t action_dim, const Options& options, Rng& rng,
                             const Compute& compute)
    : options_(options),
      action_dim_(action_dim),
      network_(std::make_unique<Mlp>(actor_spec(obs_dim, action_dim, options), rng, compute)) {
  add_free_parameters();
}

GaussianActor::GaussianActor(std::unique_ptr<FeedForward> network, int64_t action_dim,
                             const Options& options)
    : options_(options), action_dim_(action_dim), network_(std::move(network)) {
  add_free_parameters();
}

void GaussianActor::add_free_parameters() {
  const auto& options = options_;
  const int64_t action_dim = action_dim_;
  TORCH_CHECK(!options.tanh_mean || !(options.squash || options.state_dependent_std),
              "a tanh mean belongs to an unsquashed actor with a free standard deviation");
  if (!options.state_dependent_std) {
    free_log_std_ = torch::zeros({action_dim}).set_requires_grad(true);
  }
  if (options.learn_std_scale) {
    TORCH_CHECK(options.state_dependent_std, "a free standard deviation has no scale");
    std_scale_ = torch::tensor({1.0f, -1.0f}).set_requires_grad(true);
  }
}

GaussianActor::GaussianActor(const GaussianActor& other)
    : options_(other.options_), action_dim_(other.action_dim_), network_(other.network_->clone()) {
  const auto copy = [](const torch::Tensor& leaf) {
    return leaf.defined() ? leaf.detach().clone().set_requires_grad(true) : torch::Tensor();
  };
  free_log_std_ = copy(other.free_log_std_);
  std_scale_ = copy(other.std_scale_);
}

GaussianHead GaussianActor::head(const torch::Tensor& obs, Mode mode) const {
  const std::array<int64_t, 2> shape = {obs.size(0), network_->outputs()};
  auto output = network_->forward(obs, {}, {.mode = mode, .shape = shape});
  if (std_scale_.defined()) {
    const auto raw = output.narrow(1, action_dim_, action_dim_);
    output = torch::cat({output.narrow(1, 0, action_dim_), raw * std_scale_[0] + std_scale_[1]}, 1);
  }
  return {output, free_log_std_, options_.log_std_min, options_.log_std_max, options_.squash};
}

torch::Tensor GaussianActor::mode(const torch::Tensor& obs) const {
  const auto mean = head(obs).mean();
  return options_.squash ? mean.tanh() : mean.clamp(-1.0, 1.0);
}

PolicyGraph::Value GaussianActor::describe_mode(PolicyGraph& graph, PolicyGraph::Value obs) const {
  const auto mean = graph.slice(network_->describe(graph, obs), 0, action_dim_);
  return options_.squash ? graph.tanh(mean) : graph.clamp(mean, -1.0, 1.0);
}

PolicyGraph::Value GaussianActor::describe_samples(PolicyGraph& graph, PolicyGraph::Value obs,
                                                   PolicyGraph::Value noise) const {
  TORCH_CHECK(options_.state_dependent_std && options_.squash,
              "samples can be described only for squashed actors with a state-dependent standard "
              "deviation");
  const auto output = network_->describe(graph, obs);
  auto log_std = graph.slice(output, action_dim_, action_dim_);
  if (std_scale_.defined()) {
    log_std = graph.scale(log_std, std_scale_[0].item<double>(), std_scale_[1].item<double>());
  }
  const auto std = graph.exp(graph.clamp(log_std, options_.log_std_min, options_.log_std_max));
  const int64_t rows = graph.node(noise).rows;
  const auto mean = graph.repeat(graph.slice(output, 0, action_dim_), rows);
  return graph.tanh(graph.add(mean, graph.multiply(graph.repeat(std, rows), noise)));
}

std::vector<torch::Tensor> GaussianActor::parameters() const {
  std::vector<torch::Tensor> leaves = {network_->parameters()};
  if (free_log_std_.defined() && options_.learn_free_std) leaves.push_back(free_log_std_);
  if (std_scale_.defined()) leaves.push_back(std_scale_);
  return leaves;
}

void GaussianActor::polyak_from(const GaussianActor& other, double tau) {
  network_->polyak_from(*other.network_, tau);
  const torch::NoGradGuard no_grad;
  if (free_log_std_.defined()) free_log_std_.lerp_(other.free_log_std_, tau);
  if (std_scale_.defined()) std_scale_.lerp_(other.std_scale_, tau);
}

void GaussianActor::visit_state(StateVisitor& state) {
  network_->visit_state(state);
  if (free_log_std_.defined()) visit_tensor(state, "log_std", free_log_std_);
  if (std_scale_.defined()) visit_tensor(state, "std_scale", std_scale_);
}

}  // namespace rl_training
