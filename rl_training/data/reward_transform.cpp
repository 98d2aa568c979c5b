#include "rl_training/data/reward_transform.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

struct PresetEntry {
  RewardPreset preset;
  std::function<RewardTransform(const TransitionDataset*)> make;
};

RewardTransform scaled(double scale, double shift) {
  RewardTransform transform;
  transform.scale = scale;
  transform.shift = shift;
  return transform;
}

RewardTransform clipped(double shift, double low, double high) {
  RewardTransform transform = scaled(1, shift);
  transform.clip_min = low;
  transform.clip_max = high;
  return transform;
}

RewardTransform only_sign() {
  RewardTransform transform;
  transform.sign = true;
  return transform;
}

// Scales rewards by 1000 / (best - worst return), as IQL does on the locomotion tasks.
RewardTransform return_range(const TransitionDataset* dataset) {
  const auto episodes = static_cast<int64_t>(dataset->episodes().size());
  double low = 0, high = 0;
  for (int64_t episode = 0; episode < episodes; ++episode) {
    const double value = dataset->episode_return(episode);
    low = episode == 0 ? value : std::min(low, value);
    high = episode == 0 ? value : std::max(high, value);
  }
  if (!(high > low)) {
    throw Error(ErrorKind::data, {"", 0, "reward_preset"},
                "d4rl_locomotion_return_range needs episodes of different returns");
  }
  return scaled(1000 / (high - low), 0);
}

// Scales rewards to zero mean and unit variance over all rows, as EDAC does on Adroit.
RewardTransform standardized(const TransitionDataset* dataset) {
  const auto rows = static_cast<double>(std::max<int64_t>(dataset->rows(), 1));
  double sum = 0, squares = 0;
  for (int64_t row = 0; row < dataset->rows(); ++row) sum += dataset->reward(row);
  const double mean = sum / rows;
  for (int64_t row = 0; row < dataset->rows(); ++row) {
    const double difference = dataset->reward(row) - mean;
    squares += difference * difference;
  }
  const double deviation = std::sqrt(squares / rows);
  if (!(deviation > 0)) {
    throw Error(ErrorKind::data, {"", 0, "reward_preset"}, "standardize: all rewards are equal");
  }
  return scaled(1 / deviation, -mean / deviation);
}

const std::vector<PresetEntry>& entries() {
  using Data = const TransitionDataset*;
  static const std::vector<PresetEntry> table = {
      {{"sign_clip", "the sign of the reward: -1, 0 or 1", false},
       [](Data) { return only_sign(); }},
      {{"atari_clip", "the same as sign_clip", false}, [](Data) { return only_sign(); }},
      {{"clip_1", "cut to [-1, 1]", false}, [](Data) { return clipped(0, -1, 1); }},
      {{"sparse_goal_zero_one", "-1 or 0 becomes 0 or 1", false},
       [](Data) { return clipped(1, 0, 1); }},
      {{"survival_penalty", "reward - 0.01", false}, [](Data) { return scaled(1, -0.01); }},
      {{"antmaze_minus_one", "reward - 1 (IQL, RLPD, TD3+BC)", false},
       [](Data) { return scaled(1, -1); }},
      {{"antmaze_ten_minus_five", "10 reward - 5 (CQL, Cal-QL)", false},
       [](Data) { return scaled(10, -5); }},
      {{"antmaze_hundred", "100 reward (ReBRAC)", false}, [](Data) { return scaled(100, 0); }},
      {{"d4rl_locomotion_return_range", "1000 reward / (best - worst return)", true}, return_range},
      {{"standardize", "zero mean and unit variance over the data", true}, standardized},
  };
  return table;
}

RewardTransform preset_transform(const std::string& name, const TransitionDataset* dataset) {
  if (name.empty()) return {};
  std::vector<std::string> names;
  for (const auto& entry : entries()) {
    names.emplace_back(entry.preset.name);
    if (name != entry.preset.name) continue;
    if (entry.preset.needs_dataset && (!dataset || dataset->rows() == 0)) {
      throw Error(ErrorKind::config, {"", 0, "reward_preset"}, name + " needs a dataset");
    }
    return entry.make(dataset);
  }
  throw Error(ErrorKind::config, {"", 0, "reward_preset"},
              "unknown preset (expected " + join(names, ", ") + ", got " + shortened(name, 40) +
                  did_you_mean(name, names) + ")");
}

}  // namespace

double RewardTransform::apply(double reward) const {
  if (sign) reward = reward > 0 ? 1 : reward < 0 ? -1 : reward;
  reward = scale * reward + shift;
  if (clip_min) reward = std::max(reward, *clip_min);
  if (clip_max) reward = std::min(reward, *clip_max);
  return reward;
}

bool RewardTransform::identity() const {
  return !sign && scale == 1 && shift == 0 && !clip_min && !clip_max;
}

const std::vector<RewardPreset>& reward_presets() {
  static const std::vector<RewardPreset> presets = [] {
    std::vector<RewardPreset> all;
    for (const auto& entry : entries()) all.push_back(entry.preset);
    return all;
  }();
  return presets;
}

void visit_reward_preset(OptionVisitor& options, const char* key, std::string& preset) {
  std::vector<std::string> names = {"none"};
  for (const auto& entry : reward_presets()) names.emplace_back(entry.name);
  std::string name = preset.empty() ? "none" : preset;
  options.choice(key, name, names, "a named transform of the rewards");
  preset = name == "none" ? "" : name;
}

RewardTransform resolve_reward_transform(const RewardTransformSpec& spec,
                                         const TransitionDataset* dataset) {
  RewardTransform result = preset_transform(spec.preset, dataset);
  if (spec.sign) result.sign = *spec.sign;
  if (spec.scale) result.scale = *spec.scale;
  if (spec.shift) result.shift = *spec.shift;
  if (spec.clip_min) result.clip_min = spec.clip_min;
  if (spec.clip_max) result.clip_max = spec.clip_max;
  const auto check = [](double value, const char* key) {
    if (!std::isfinite(value)) throw Error(ErrorKind::config, {"", 0, key}, "not finite");
  };
  check(result.scale, "reward_scale");
  check(result.shift, "reward_shift");
  check(result.clip_min.value_or(0), "reward_clip_min");
  check(result.clip_max.value_or(0), "reward_clip_max");
  if (result.clip_min && result.clip_max && *result.clip_min > *result.clip_max) {
    throw Error(ErrorKind::config, {"", 0, "reward_clip_min"}, "larger than reward_clip_max");
  }
  return result;
}

TransitionDataset transform_rewards(const TransitionDataset& dataset,
                                    const RewardTransform& transform) {
  if (transform.identity()) return dataset;
  std::vector<float> rewards;
  rewards.reserve(static_cast<size_t>(dataset.rows()));
  for (int64_t row = 0; row < dataset.rows(); ++row) {
    rewards.push_back(static_cast<float>(transform.apply(dataset.reward(row))));
  }
  return dataset.with_rewards(rewards);
}

}  // namespace rl_training
