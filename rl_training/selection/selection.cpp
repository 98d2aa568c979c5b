#include "rl_training/selection/selection.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <typeinfo>

#include "rl_training/experiment/run_data.h"
#include "rl_training/selection/ranking.h"
#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

constexpr int64_t kPolicyRows = 4096;
constexpr int64_t kOpcRows = 50000;  // approximate maximum number of rows for the soft OPC
constexpr double kGoodEpisodes = 0.75;
constexpr int64_t kImportanceRows = 20000;
constexpr double kSmallestRatio = -6, kLargestRatio = 2;  // bounds of the log ratio of a step
constexpr int kValueSamples = 10;
constexpr double kShortestHorizon = 100, kLongestHorizon = 500;  // steps

// Loads the data with logged rewards, because candidates may have been trained on transformed
// rewards.
TransitionDataset load_data(const TrainedPolicy& policy, const std::optional<std::string>& file,
                            const std::function<void(const std::string&)>& warn) {
  const auto& config = policy.config();
  auto options = config.dataset;
  options.reward = {};
  options.top_fraction = 1;
  if (file) {
    options.mix.clear();
    options.source = {};
    options.source.kind = "auto";
    options.source.path = *file;
  } else if (!config.has_dataset()) {
    throw Error(ErrorKind::config, {"", 0, "--data"},
                "the first run was not trained on data (expected --data FILE)");
  }
  return load_transition_dataset(options, config.env_id,
                                 {.env = config.env,
                                  .warn = warn,
                                  .discrete_actions = policy.env().action.is_discrete(),
                                  .spaces = &policy.env()});
}

std::string bounded_text(const Space& space) {
  if (space.low.empty()) return space.text();
  return space.text() + " from " + Json(space.low).dump() + " to " + Json(space.high).dump();
}

// Every `step`-th row of the given episodes.
torch::Tensor row_numbers(const TransitionDataset& data, const std::vector<int64_t>& episodes,
                          int64_t step) {
  std::vector<int64_t> rows;
  for (const int64_t number : episodes) {
    const Episode& episode = data.episodes()[static_cast<size_t>(number)];
    for (int64_t i = 0; i < episode.rows; i += step) rows.push_back(episode.first_row + i);
  }
  return torch::tensor(rows, torch::kInt64);
}

std::vector<int64_t> good_episodes(const TransitionDataset& data) {
  std::vector<double> returns;
  for (size_t i = 0; i < data.episodes().size(); ++i) {
    returns.push_back(data.episode_return(static_cast<int64_t>(i)));
  }
  auto sorted = returns;
  std::sort(sorted.begin(), sorted.end());
  const double threshold =
      sorted[static_cast<size_t>(kGoodEpisodes * static_cast<double>(sorted.size() - 1))];
  std::vector<int64_t> good;
  for (size_t i = 0; i < returns.size(); ++i) {
    if (returns[i] >= threshold) good.push_back(static_cast<int64_t>(i));
  }
  return good;
}

// Returns the discount factor gamma whose horizon 1 / (1 - gamma) is the mean episode length,
// clamped to limits. With a shorter horizon, policies that differ mainly in the length of their
// episodes would get similar estimates. The length is averaged over rows, not over episodes, so
// that long episodes count even among many short ones.
double gamma_of(const TransitionDataset& data) {
  double squares = 0;
  for (const Episode& episode : data.episodes()) {
    squares += static_cast<double>(episode.rows) * static_cast<double>(episode.rows);
  }
  const double length = squares / static_cast<double>(data.rows());
  return 1 - 1 / std::clamp(length, kShortestHorizon, kLongestHorizon);
}

// Returns the number of updates after which values have converged. A value approaches its limit at
// the rate tau (1 - gamma) per update. After 5 / rate updates, it has covered 99 % of the distance.
int64_t updates_for(const FittedQOptions& fit) {
  return std::llround(5 / (fit.tau * (1 - fit.gamma)));
}

// Converts [critics, starts] to one list per critic.
std::vector<std::vector<double>> by_critic(const torch::Tensor& values) {
  const auto doubles = values.to(torch::kFloat64).contiguous();
  std::vector<std::vector<double>> lists;
  for (int64_t i = 0; i < doubles.size(0); ++i) {
    const double* row = doubles.data_ptr<double>() + i * doubles.size(1);
    lists.emplace_back(row, row + doubles.size(1));
  }
  return lists;
}

torch::Tensor episode_starts(const TransitionDataset& data) {
  std::vector<int64_t> rows;
  for (const Episode& episode : data.episodes()) rows.push_back(episode.first_row);
  return torch::tensor(rows, torch::kInt64);
}

}  // namespace

Selection::Selection(const std::vector<std::string>& runs, const SelectionOptions& options,
                     ThreadPool& pool, const std::function<void(const std::string&)>& warn)
    : options_(options) {
  Sha256 hash;
  for (const auto& run : runs) {
    const auto checkpoint = find_checkpoint(run, warn);
    auto policy = std::make_unique<TrainedPolicy>(checkpoint);
    hash.add(checkpoint.manifest.dump());
    candidates_.push_back({run, checkpoint.path, std::move(policy)});
  }
  check_spaces();
  const auto all = load_data(*candidates_.front().policy, options.data, warn);
  fingerprint_ = all.fingerprint();
  split(all);
  options_.fit.gamma = options.gamma.value_or(gamma_of(all));
  options_.fit.updates = options.updates.value_or(updates_for(options_.fit));
  const auto& fit = options_.fit;
  const Json settings = {fingerprint_, options.held_out, fit.updates,       fit.batch_size,
                         fit.critics,  fit.hidden_sizes, fit.learning_rate, fit.weight_decay,
                         fit.gamma,    fit.tau,          fit.seed};
  hash.add(settings.dump());
  key_ = hash.hex();
  std::vector<torch::Tensor> next_actions;
  const auto next_obs = next_observations_of(*data_);
  for (size_t i = 0; i < candidates_.size(); ++i) next_actions.push_back(act(i, next_obs));
  Compute compute;
  compute.pool = &pool;
  fit_ = std::make_unique<FittedQ>(*data_, std::move(next_actions), fit, compute);
}

void Selection::check_spaces() const {
  const auto& first = candidates_.front().policy->env();
  for (const auto& [run, checkpoint, policy] : candidates_) {
    const auto& env = policy->env();
    if (!(env.observation == first.observation) || !(env.action == first.action)) {
      throw Error(ErrorKind::config, {run, 0, ""},
                  "does not fit the first policy (expected observations of " +
                      first.observation.text() + " and actions of " + bounded_text(first.action) +
                      ", got " + env.observation.text() + " and " + bounded_text(env.action) + ")");
    }
    const auto state = policy->algorithm().make_policy_state(1);
    if (typeid(*state) != typeid(PolicyState) || env.observation.is_image()) {
      throw Error(ErrorKind::config, {run, 0, ""},
                  policy->config().algo +
                      " cannot be ranked (expected a policy whose action depends only on the "
                      "current observation, a vector)");
    }
  }
}

// Holds out whole episodes, because rows of one episode are correlated.
void Selection::split(const TransitionDataset& all) {
  std::vector<int64_t> order(all.episodes().size());
  std::iota(order.begin(), order.end(), int64_t{0});
  Rng rng(options_.fit.seed, "selection/split");
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  const auto held = static_cast<size_t>(options_.held_out * static_cast<double>(order.size()));
  std::vector<int64_t> other(order.begin(), order.begin() + static_cast<int64_t>(held));
  std::vector<int64_t> used(order.begin() + static_cast<int64_t>(held), order.end());
  std::sort(other.begin(), other.end());
  std::sort(used.begin(), used.end());
  data_ = std::make_shared<const TransitionDataset>(all.with_episodes(used));
  held_out_ =
      held == 0 ? data_ : std::make_shared<const TransitionDataset>(all.with_episodes(other));
}

torch::Tensor Selection::normalised(size_t candidate, const torch::Tensor& obs) const {
  auto rows = obs.clone();
  const auto& normalizer = candidates_[candidate].policy->normalizer();
  for (int64_t i = 0; i < rows.size(0) && !normalizer.identity(); ++i) {
    float* row = rows.data_ptr<float>() + i * rows.size(1);
    normalizer.apply(row, row);
  }
  return rows;
}

torch::Tensor Selection::act(size_t candidate, const torch::Tensor& obs, ActMode mode) {
  const torch::NoGradGuard no_grad;
  auto& algorithm = candidates_[candidate].policy->algorithm();
  std::vector<torch::Tensor> actions;
  for (const auto& part : obs.split(kPolicyRows)) {
    // Clones the actions, because the algorithm may reuse the memory of its result.
    actions.push_back(act_once(algorithm, normalised(candidate, part), mode).clone());
  }
  return torch::cat(actions);
}

// Uses whole episodes in order: up to kImportanceRows rows, but at least one episode.
std::optional<ImportanceEstimates> Selection::importance(size_t candidate) {
  const torch::NoGradGuard no_grad;
  std::vector<int64_t> numbers;
  for (int64_t rows = 0; const Episode& episode : data_->episodes()) {
    rows += episode.rows;
    if (rows > kImportanceRows && !numbers.empty()) break;
    numbers.push_back(static_cast<int64_t>(numbers.size()));
  }
  const auto rows = row_numbers(*data_, numbers, 1);
  const auto obs = observations_of(*data_).index_select(0, rows);
  const auto actions = actions_of(*data_).index_select(0, rows);
  const auto density =
      candidates_[candidate].policy->algorithm().log_density(normalised(candidate, obs), actions);
  if (!density.defined()) return std::nullopt;
  const auto k = static_cast<int64_t>(candidate);
  const auto as_doubles = [](const torch::Tensor& x) { return x.to(torch::kFloat64).contiguous(); };
  const auto ratio = as_doubles(
      (density - fit_->behavior_log_density(obs, actions)).clamp(kSmallestRatio, kLargestRatio));
  const auto q = as_doubles(fit_->values(k, obs, actions).mean(0));
  auto v = torch::zeros_like(q);
  for (int i = 0; i < kValueSamples; ++i) {
    v += fit_->values(k, obs, act(candidate, obs, ActMode::explore)).mean(0) / kValueSamples;
  }
  std::vector<WeightedEpisode> episodes;
  int64_t at = 0;
  for (const int64_t number : numbers) {
    auto& steps = episodes.emplace_back();
    const Episode& episode = data_->episodes()[static_cast<size_t>(number)];
    for (int64_t i = 0; i < episode.rows; ++i, ++at) {
      steps.push_back({ratio.data_ptr<double>()[at], data_->reward(episode.first_row + i),
                       q.data_ptr<double>()[at], v.data_ptr<double>()[at]});
    }
  }
  return importance_estimates(episodes, options_.fit.gamma);
}

std::vector<PolicyEstimate> Selection::estimates() {
  std::vector<int64_t> all(data_->episodes().size());
  std::iota(all.begin(), all.end(), int64_t{0});
  const auto obs = observations_of(*data_), actions = actions_of(*data_);
  const auto start_obs = obs.index_select(0, episode_starts(*data_));
  const int64_t step = 1 + data_->rows() / kOpcRows;
  const auto all_rows = row_numbers(*data_, all, step);
  const auto good_rows = row_numbers(*data_, good_episodes(*data_), step);
  const auto held_next = next_observations_of(*held_out_);
  std::vector<PolicyEstimate> estimates;
  std::vector<double> values;
  for (size_t k = 0; k < candidates_.size(); ++k) {
    const auto candidate = static_cast<int64_t>(k);
    const auto mean_value = [&](const torch::Tensor& rows) {
      return fit_->values(candidate, obs.index_select(0, rows), actions.index_select(0, rows))
          .to(torch::kFloat64)
          .mean()
          .item<double>();
    };
    const auto at_starts = fit_->values(candidate, start_obs, act(k, start_obs));
    PolicyEstimate estimate;
    estimate.run = candidates_[k].run;
    estimate.checkpoint = candidates_[k].checkpoint;
    estimate.value = at_starts.to(torch::kFloat64).mean().item<double>();
    const auto interval = bootstrap_starts(by_critic(at_starts));
    estimate.low = interval.low;
    estimate.high = interval.high;
    estimate.soft_opc = mean_value(good_rows) - mean_value(all_rows);
    estimate.td_error = std::sqrt(fit_->td_error(candidate, *held_out_, act(k, held_next)));
    estimate.importance = importance(k);
    values.push_back(estimate.value);
    estimates.push_back(std::move(estimate));
  }
  const auto ranks = ranks_of(values);
  for (size_t k = 0; k < estimates.size(); ++k) estimates[k].rank = ranks[k];
  return estimates;
}

OwnEstimate Selection::own_estimate() const {
  const auto starts = episode_starts(*data_);
  const auto values = fit_->own_values(observations_of(*data_).index_select(0, starts),
                                       actions_of(*data_).index_select(0, starts));
  const auto interval = bootstrap_starts(by_critic(values));
  return {values.to(torch::kFloat64).mean().item<double>(), interval.low, interval.high};
}

void Selection::check_playable() const {
  for (const auto& candidate : candidates_) candidate.policy->make_own_environment("--truth");
}

double Selection::play(size_t candidate, int64_t episodes) {
  auto& policy = *candidates_[candidate].policy;
  return policy.evaluate(episodes, static_cast<uint64_t>(policy.config().eval_seed)).return_mean;
}

int64_t overlap_with_best(const std::vector<PolicyEstimate>& estimates) {
  const auto best = std::max_element(estimates.begin(), estimates.end(),
                                     [](const auto& a, const auto& b) { return a.rank > b.rank; });
  return std::count_if(estimates.begin(), estimates.end(), [&](const auto& other) {
    return &other != &*best && other.high >= best->low && other.low <= best->high;
  });
}

}  // namespace rl_training
