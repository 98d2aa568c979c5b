#include "rl_training/algorithms/decision_transformer.h"

#include <algorithm>
#include <array>

#include "rl_training/models/losses.h"
#include "rl_training/util/error.h"

namespace rl_training {

DecisionTransformerOptions::DecisionTransformerOptions() {
  batch_size = 64;
  learning_rate = 1e-4;
}

void DecisionTransformerOptions::visit_options(OptionVisitor& options) {
  const Range share = {.low = 0.0, .high = 1.0, .high_open = true};
  options.integer("batch_size", batch_size, between(1, 1 << 20), "segments of episodes per batch");
  options.number("learning_rate", learning_rate, above(0), "AdamW step size");
  options.number("target_return", target_return, any_number(),
                 "return of an episode that the policy aims at; required");
  options.number("return_scale", return_scale, above(0),
                 "divisor of returns before they enter the network");
  options.integer("context_length", context_length, between(1, 4096),
                  "steps of a segment, and steps that the policy remembers");
  options.integer("max_episode_length", max_episode_length, between(1, 1 << 20),
                  "steps of the longest episode: the number of timestep embeddings");
  options.integer("embed_dim", embed_dim, between(1, 1 << 14), "width of a token");
  options.integer("num_layers", num_layers, between(1, 256), "blocks of the transformer");
  options.integer("num_heads", num_heads, between(1, 256),
                  "attention heads; must divide embed_dim");
  options.number("dropout", dropout, share, "share of activations dropped while training");
  options.number("weight_decay", weight_decay, at_least(0), "decoupled decay of all parameters");
  options.number("gradient_clip_norm", gradient_clip_norm, above(0),
                 "norm to which gradients are clipped");
}

BatchRequest DecisionTransformerOptions::request() const {
  using enum BatchColumn;
  BatchRequest request;
  request.rows = batch_size;
  request.columns = {obs, action, return_to_go, timestep, mask};
  request.window = context_length;
  request.max_steps = max_episode_length;
  request.raw_rewards = true;
  return request;
}

void DecisionTransformerOptions::check() const {
  if (!target_return) {
    throw Error(ErrorKind::config, {"", 0, "target_return"},
                "missing (expected the return to aim at, such as that of the best episodes of the "
                "dataset)");
  }
  if (embed_dim % num_heads != 0) {
    throw Error(ErrorKind::config, {"", 0, "num_heads"},
                "does not divide embed_dim (expected a divisor of " + std::to_string(embed_dim) +
                    ", got " + std::to_string(num_heads) + ")");
  }
}

namespace {

Transformer make_network(const DecisionTransformerOptions& options,
                         const AlgorithmContext& context) {
  TransformerSpec spec;
  spec.obs_dim = context.obs_dim();
  spec.action_dim = context.action_dim();
  spec.embed_dim = options.embed_dim;
  spec.layers = options.num_layers;
  spec.heads = options.num_heads;
  spec.max_steps = options.max_episode_length;
  spec.dropout = options.dropout;
  Rng rng(context.seed, "init");
  return {spec, rng, context.compute};
}

// The latest steps of the current episode of each row, stored from index 0.
class History final : public PolicyState {
 public:
  History(const DecisionTransformerOptions& options, int64_t rows, int64_t obs_dim,
          int64_t action_dim)
      : options_(options),
        steps_{torch::zeros({rows, options.context_length}),
               torch::zeros({rows, options.context_length, obs_dim}),
               torch::zeros({rows, options.context_length, action_dim}),
               torch::zeros({rows, options.context_length}, torch::kLong)},
        return_to_go_(static_cast<size_t>(rows), first_return()),
        time_(static_cast<size_t>(rows), 0) {}

  int64_t rows() const { return static_cast<int64_t>(time_.size()); }

  void begin_episode(int64_t row) override {
    return_to_go_[static_cast<size_t>(row)] = first_return();
    time_[static_cast<size_t>(row)] = 0;
  }

  void observe_reward(int64_t row, double reward) override {
    return_to_go_[static_cast<size_t>(row)] -= reward / options_.return_scale;
  }

  // Replaces the action that `take_actions` stored. `take_actions` has already advanced `time_`, so
  // this action belongs to the previous step.
  void observe_action(int64_t row, const torch::Tensor& action) override {
    const int64_t time = time_[static_cast<size_t>(row)];
    if (time == 0) return;
    const int64_t at = std::min(time, options_.context_length) - 1;
    std::copy_n(action.data_ptr<float>(), steps_.actions.size(2),
                entry<float>(steps_.actions, row, at));
  }

  // Appends a step to each row. Its action is zero, because the action is not known yet. `obs` is
  // [rows, obs_dim] and contiguous.
  void append(const torch::Tensor& obs) {
    const int64_t width = obs.size(1);
    for (int64_t row = 0; row < rows(); ++row) {
      const int64_t time = time_[static_cast<size_t>(row)];
      if (time >= options_.max_episode_length) {
        throw Error(ErrorKind::data, {"", 0, "max_episode_length"},
                    "the episode is longer than max_episode_length (expected at most " +
                        std::to_string(options_.max_episode_length) + " steps)");
      }
      if (time >= options_.context_length) forget_first(row);
      *entry<float>(steps_.returns, row, last(row)) =
          static_cast<float>(return_to_go_[static_cast<size_t>(row)]);
      std::copy_n(obs.data_ptr<float>() + row * width, width,
                  entry<float>(steps_.obs, row, last(row)));
      std::fill_n(entry<float>(steps_.actions, row, last(row)), steps_.actions.size(2), 0.0f);
      *entry<int64_t>(steps_.timesteps, row, last(row)) = time;
    }
  }

  // All stored steps, truncated to the number of steps of the longest row.
  Trajectories steps() const {
    int64_t longest = 0;
    for (int64_t row = 0; row < rows(); ++row) longest = std::max(longest, last(row) + 1);
    const auto part = [&](const torch::Tensor& all) { return all.narrow(1, 0, longest); };
    return {part(steps_.returns), part(steps_.obs), part(steps_.actions), part(steps_.timesteps)};
  }

  // Selects the actions of the appended step from `predicted`, which has actions for all steps.
  // Stores them in the history and advances to the next step.
  torch::Tensor take_actions(const torch::Tensor& predicted) {
    auto chosen = torch::empty({rows(), predicted.size(2)});
    for (int64_t row = 0; row < rows(); ++row) {
      const float* action = entry<float>(predicted, row, last(row));
      std::copy_n(action, chosen.size(1), chosen.data_ptr<float>() + row * chosen.size(1));
      std::copy_n(action, chosen.size(1), entry<float>(steps_.actions, row, last(row)));
      ++time_[static_cast<size_t>(row)];
    }
    return chosen;
  }

  void visit_state(StateVisitor& state) override {
    const std::array<int64_t, 1> shape = {rows()};
    visit_tensor(state, "returns", steps_.returns);
    visit_tensor(state, "obs", steps_.obs);
    visit_tensor(state, "actions", steps_.actions);
    state.array("timesteps", DType::i64, steps_.timesteps.sizes(),
                steps_.timesteps.data_ptr<int64_t>());
    state.array("return_to_go", DType::f64, shape, return_to_go_.data());
    state.array("time", DType::i64, shape, time_.data());
  }

 private:
  double first_return() const {
    return options_.target_return.value_or(0.0) / options_.return_scale;
  }

  // Index of the row's current step in `steps_`.
  int64_t last(int64_t row) const {
    return std::min(time_[static_cast<size_t>(row)], options_.context_length - 1);
  }

  // Pointer to step `at` of a row in [rows, steps, ...].
  template <class T>
  static T* entry(const torch::Tensor& column, int64_t row, int64_t at) {
    return column.data_ptr<T>() + row * column.stride(0) + at * column.stride(1);
  }

  void forget_first(int64_t row) {
    const auto shift = [&]<class T>(const torch::Tensor& column, T) {
      T* first = entry<T>(column, row, 0);
      std::copy(first + column.stride(1), first + column.stride(0), first);
    };
    shift(steps_.returns, 0.0f);
    shift(steps_.obs, 0.0f);
    shift(steps_.actions, 0.0f);
    shift(steps_.timesteps, int64_t{0});
  }

  DecisionTransformerOptions options_;
  Trajectories steps_;                // [rows, context_length, ...]
  std::vector<double> return_to_go_;  // scaled, at the current step
  std::vector<int64_t> time_;         // index of the current step in its episode
};

}  // namespace

torch::Tensor masked_squared_error(const torch::Tensor& predicted, const torch::Tensor& actions,
                                   const torch::Tensor& mask) {
  const auto errors = (predicted - actions).square().mean(-1) * mask;
  return errors.sum() / mask.sum();
}

// L = mean over steps inside the episode of (a_t - pi(R_t, s_t | steps before t))^2
// with the scaled return-to-go R_t
DecisionTransformerLoss decision_transformer_loss(const Transformer& network, const Batch& batch,
                                                  double return_scale, Rng* dropout) {
  const auto predicted = network.forward(
      {batch.returns_to_go() / return_scale, batch.obs(), batch.actions(), batch.timesteps()},
      dropout);
  return {masked_squared_error(predicted, batch.actions(), batch.mask()), {}};
}

DecisionTransformer::DecisionTransformer(const DecisionTransformerOptions& options,
                                         const AlgorithmContext& context)
    : options_(options),
      obs_dim_(context.obs_dim()),
      action_dim_(context.action_dim()),
      dropout_rng_(context.own_seed(), "dropout"),
      network_(make_network(options, context)),
      optimizer_(network_,
                 {.learning_rate = options.learning_rate,
                  .weight_decay = options.weight_decay,
                  .max_gradient_norm = options.gradient_clip_norm},
                 context.compute) {}

Metrics DecisionTransformer::update(const Batch& batch, double lr_scale) {
  auto loss = decision_transformer_loss(network_, batch, options_.return_scale, &dropout_rng_);
  minimize(loss.loss, optimizer_, lr_scale);
  loss.gradient_norm = scalar(optimizer_.gradient_norm());
  return metrics_of(loss);
}

std::unique_ptr<PolicyState> DecisionTransformer::make_policy_state(int64_t rows) const {
  return std::make_unique<History>(options_, rows, obs_dim_, action_dim_);
}

torch::Tensor DecisionTransformer::act(const torch::Tensor& obs, PolicyState& state,
                                       ActMode /*mode*/) {
  const torch::NoGradGuard no_grad;
  auto& history = dynamic_cast<History&>(state);
  TORCH_CHECK(history.rows() == obs.size(0), "the policy's state is of ", history.rows(),
              " rows, got observations of ", obs.size(0));
  history.append(obs.contiguous());
  return history.take_actions(network_.forward(history.steps()).contiguous());
}

PolicyGraph::Value DecisionTransformer::describe_policy(PolicyGraph& /*graph*/,
                                                        PolicyGraph::Value /*obs*/) const {
  throw Error(ErrorKind::config, {"", 0, "algo"},
              "decision_transformer cannot be exported: its action depends on previous steps and "
              "rewards (expected a policy that is a function of the current observation)");
}

void DecisionTransformer::visit_state(StateVisitor& state) {
  state.part("network", network_);
  state.part("optimizer", optimizer_);
  state.part("dropout_rng", dropout_rng_);
}

AlgorithmInfoOf<DecisionTransformer, DecisionTransformerOptions> decision_transformer_info() {
  return algorithm_info<DecisionTransformer, DecisionTransformerOptions>(
      {.name = DecisionTransformerOptions::kName,
       .title = "Decision Transformer: a return-conditioned sequence model",
       .paper = "arXiv:2106.01345",
       .metrics = metric_names_of<DecisionTransformerLoss>()});
}

}  // namespace rl_training
