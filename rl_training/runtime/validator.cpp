#include "rl_training/runtime/validator.h"

#include <algorithm>
#include <span>

namespace rl_training {
namespace {

constexpr size_t kRowsAtOnce = 1024;

// At most `count` evenly spaced elements of `all`.
std::vector<int64_t> spread(const std::vector<int64_t>& all, int64_t count) {
  const auto size = static_cast<int64_t>(all.size());
  if (size <= count) return all;
  std::vector<int64_t> some;
  for (int64_t i = 0; i < count; ++i) some.push_back(all[static_cast<size_t>(i * size / count)]);
  return some;
}

torch::Tensor memory_of(const Space& space, int64_t rows) {
  std::vector<int64_t> shape = {rows};
  shape.insert(shape.end(), space.shape.begin(), space.shape.end());
  const auto dtype = space.is_discrete() ? torch::kLong
                     : space.is_image()  ? torch::kByte
                                         : torch::kFloat;
  return torch::empty(shape, dtype);
}

// The normalised observations of `rows`. `bytes_of(row)` returns the bytes of a raw observation.
template <class BytesOf>
torch::Tensor observations(const TransitionDataset& data, const ObsNormalizer& normalizer,
                           std::span<const int64_t> rows, const BytesOf& bytes_of) {
  auto obs = memory_of(data.obs_space(), static_cast<int64_t>(rows.size()));
  auto* out = static_cast<unsigned char*>(obs.data_ptr());
  for (const int64_t row : rows) {
    normalizer.apply(bytes_of(row), out);
    out += data.obs_space().bytes();
  }
  return obs;
}

torch::Tensor actions_of(const TransitionDataset& data, std::span<const int64_t> rows) {
  auto actions = memory_of(data.action_space(), static_cast<int64_t>(rows.size()));
  auto* out = static_cast<unsigned char*>(actions.data_ptr());
  for (const int64_t row : rows) {
    copy_entry(data.action_bytes(row), data.action_space().bytes(), out);
    out += data.action_space().bytes();
  }
  return actions;
}

double sum_of(const torch::Tensor& values) {
  return values.to(torch::kDouble).sum().item<double>();
}

// Sum over rows of |pi(s) - a|^2, or number of discrete actions that differ.
double action_errors(const torch::Tensor& chosen, const torch::Tensor& logged) {
  return logged.dtype() == torch::kLong ? sum_of(chosen != logged)
                                        : sum_of((chosen - logged).square());
}

// Calls `use` with successive blocks of rows, so that a pass needs only the memory of one block.
template <class Use>
void in_pieces(const std::vector<int64_t>& rows, const Use& use) {
  const std::span<const int64_t> all(rows);
  for (size_t first = 0; first < all.size(); first += kRowsAtOnce) {
    use(all.subspan(first, std::min(kRowsAtOnce, all.size() - first)));
  }
}

}  // namespace

struct Validator::Sums {
  double squared_td = 0, action_error = 0, advantage = 0;
};

Validator::Validator(std::shared_ptr<const TransitionDataset> held_out, const Options& options)
    : data_(std::move(held_out)), options_(options) {
  std::vector<int64_t> all(static_cast<size_t>(data_->rows())), starts;
  for (size_t row = 0; row < all.size(); ++row) all[row] = static_cast<int64_t>(row);
  for (const auto& episode : data_->episodes()) starts.push_back(episode.first_row);
  rows_ = spread(all, options_.max_rows);
  starts_ = spread(starts, options_.max_rows);
}

// Adds the sums of d^2, of the action error and of A over `rows`, where
// d = r + gamma (1 - terminated) Q(s', pi(s')) - Q(s, a) and A = Q(s, pi(s)) - Q(s, a). Leaves out
// the action error if the policy has memory, and d and A if the algorithm does not learn Q.
void Validator::add_rows(Algorithm& algorithm, const ObsNormalizer& normalizer,
                         std::span<const int64_t> rows, Sums& sums) const {
  const auto& data = *data_;
  const auto obs =
      observations(data, normalizer, rows, [&](int64_t row) { return data.obs_bytes(row); });
  const auto logged = actions_of(data, rows);
  const auto chosen = act_once(algorithm, obs);
  if (!options_.remembers) sums.action_error += action_errors(chosen, logged);
  const auto q = algorithm.values(obs, logged);
  if (!q.defined()) return;
  const auto next_obs =
      observations(data, normalizer, rows, [&](int64_t row) { return data.next_obs_bytes(row); });
  const auto next_q = algorithm.values(next_obs, act_once(algorithm, next_obs));
  auto rewards = torch::empty({q.size(0)}), discounts = torch::empty({q.size(0)});
  for (size_t i = 0; i < rows.size(); ++i) {
    rewards.data_ptr<float>()[i] = data.reward(rows[i]);
    discounts.data_ptr<float>()[i] =
        data.terminated(rows[i]) ? 0.0f : static_cast<float>(options_.gamma);
  }
  sums.squared_td += sum_of((rewards + discounts * next_q - q).square());
  sums.advantage += sum_of(algorithm.values(obs, chosen) - q);
}

double Validator::initial_value(Algorithm& algorithm, const ObsNormalizer& normalizer) const {
  double sum = 0;
  in_pieces(starts_, [&](std::span<const int64_t> rows) {
    const auto obs =
        observations(*data_, normalizer, rows, [&](int64_t row) { return data_->obs_bytes(row); });
    sum += sum_of(algorithm.values(obs, act_once(algorithm, obs)));
  });
  return sum / static_cast<double>(starts_.size());
}

// Passes the logged steps of each episode to the policy in order. Stops after the episode in which
// the total number of rows reaches `max_rows`.
double Validator::action_error_in_episodes(Algorithm& algorithm,
                                           const ObsNormalizer& normalizer) const {
  const auto state = algorithm.make_policy_state(1);
  double sum = 0;
  int64_t rows = 0;
  for (const auto& episode : data_->episodes()) {
    if (rows >= options_.max_rows) break;
    state->begin_episode(0);
    for (int64_t row = episode.first_row; row < episode.first_row + episode.rows; ++row, ++rows) {
      const std::span<const int64_t> one(&row, 1);
      const auto obs =
          observations(*data_, normalizer, one, [&](int64_t at) { return data_->obs_bytes(at); });
      const auto logged = actions_of(*data_, one);
      sum += action_errors(algorithm.act(obs, *state, ActMode::greedy), logged);
      state->observe_action(0, logged[0]);
      state->observe_reward(0, data_->reward(row));
    }
  }
  return sum / static_cast<double>(rows);
}

ValidationMetrics Validator::run(Algorithm& algorithm, const ObsNormalizer& normalizer) const {
  Sums sums;
  const auto probe = std::span<const int64_t>(rows_).first(1);
  const auto obs =
      observations(*data_, normalizer, probe, [&](int64_t row) { return data_->obs_bytes(row); });
  const bool has_values = algorithm.values(obs, actions_of(*data_, probe)).defined();
  if (has_values || !options_.remembers) {
    in_pieces(rows_,
              [&](std::span<const int64_t> rows) { add_rows(algorithm, normalizer, rows, sums); });
  }
  const auto count = static_cast<double>(rows_.size());
  ValidationMetrics metrics;
  metrics.action_error = options_.remembers ? action_error_in_episodes(algorithm, normalizer)
                                            : sums.action_error / count;
  if (!has_values) return metrics;
  metrics.td_error = sums.squared_td / count;
  metrics.initial_value = initial_value(algorithm, normalizer);
  metrics.advantage = sums.advantage / count;
  return metrics;
}

}  // namespace rl_training
