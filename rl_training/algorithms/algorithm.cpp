#include "rl_training/algorithms/algorithm.h"

namespace rl_training {

namespace {

std::span<float> resized(torch::Tensor& values, torch::IntArrayRef shape) {
  if (!values.defined() || values.sizes() != shape) values = torch::empty(shape);
  return {values.data_ptr<float>(), static_cast<size_t>(values.numel())};
}

}  // namespace

const torch::Tensor& NoiseBuffer::normal(Rng& rng, torch::IntArrayRef shape) {
  rng.fill_normal(resized(values_, shape));
  return values_;
}

const torch::Tensor& NoiseBuffer::uniform(Rng& rng, torch::IntArrayRef shape, double low,
                                          double high) {
  rng.fill_uniform(resized(values_, shape), static_cast<float>(low), static_cast<float>(high));
  return values_;
}

void AlgorithmOptions::visit_supervised_options(OptionVisitor& options) {
  options.integer("batch_size", batch_size, between(1, 1 << 20), "rows per minibatch");
  options.integers("hidden_sizes", hidden_sizes, between(1, 1 << 14),
                   "widths of the hidden layers");
  options.number("learning_rate", learning_rate, above(0), "Adam step size");
  options.number("gamma", gamma, between(0, 1), "discount factor");
}

void AlgorithmOptions::visit_options(OptionVisitor& options) {
  visit_supervised_options(options);
  options.number("tau", tau, above_up_to(0, 1), "weight of the online networks in a target update");
  options.integer("n_step", n_step, between(1, 1000),
                  "rewards summed before a target bootstraps, fewer at the end of an episode");
}

std::vector<PhaseSpec> AlgorithmOptions::phases(int64_t total_timesteps) const {
  return {{.name = "offline", .source = PhaseSpec::Source::data, .length = total_timesteps}};
}

BatchRequest AlgorithmOptions::request() const {
  BatchRequest request;
  request.rows = batch_size;
  request.gamma = gamma;
  request.n_step = n_step;
  return request;
}

PolicyGraph::Value Algorithm::describe_policy(PolicyGraph& /*graph*/,
                                              PolicyGraph::Value /*obs*/) const {
  throw Error(ErrorKind::config, {"", 0, "algo"},
              "cannot be exported: the algorithm does not describe its policy "
              "(expected an override of Algorithm::describe_policy)");
}

torch::Tensor act_once(Algorithm& algorithm, const torch::Tensor& obs, ActMode mode) {
  const auto state = algorithm.make_policy_state(obs.size(0));
  return algorithm.act(obs, *state, mode);
}

}  // namespace rl_training
