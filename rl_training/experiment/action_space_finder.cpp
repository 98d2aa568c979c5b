#include "rl_training/experiment/action_space_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// Returns one value per column, or no values if the key is not set. A single given value applies to
// all columns.
std::vector<double> for_columns(const std::vector<double>& given, size_t columns, const char* key) {
  if (given.size() == 1) return std::vector<double>(columns, given[0]);
  if (given.empty() || given.size() == columns) return given;
  throw Error(ErrorKind::config, {"", 0, std::string("algo_kwargs.") + key},
              fmt::format("does not fit the actions (expected one number or {}, got {})", columns,
                          given.size()));
}

std::string bounds_text(const std::vector<double>& low, const std::vector<double>& high) {
  constexpr size_t kShown = 8;
  std::vector<std::string> pairs;
  for (size_t k = 0; k < std::min(low.size(), kShown); ++k) {
    pairs.push_back(fmt::format("[{:g}, {:g}]", low[k], high[k]));
  }
  return join(pairs, ", ") + (low.size() > kShown ? ", ..." : "");
}

}  // namespace

void ActionSpaceFinder::look_at(const TransitionDataset& dataset) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto columns = static_cast<size_t>(dataset.action_dim());
  const int64_t choices = dataset.action_space().categories;
  discrete_ = discrete_ || choices > 0;
  if (choices != kMostChoices) stated_choices_ = std::max(stated_choices_, choices);
  if (low_.empty()) {
    low_.assign(columns, kInfinity);
    high_.assign(columns, -kInfinity);
  }
  if (columns != low_.size()) {
    throw Error(ErrorKind::data, {"", 0, "actions"},
                fmt::format("the parts of the dataset have different actions (expected {} columns, "
                            "got {})",
                            low_.size(), columns));
  }
  for (int64_t row = 0; row < dataset.rows(); ++row) {
    for (size_t k = 0; k < columns; ++k) {
      const double value = dataset.action_value(row, static_cast<int64_t>(k));
      if (!std::isfinite(value)) continue;
      low_[k] = std::min(low_[k], value);
      high_[k] = std::max(high_[k], value);
    }
  }
}

Space ActionSpaceFinder::choices(const DatasetOptions& options,
                                 const std::function<void(const std::string&)>& warn) const {
  if (stated_choices_ > 0) return Space::discrete(stated_choices_);
  const auto highest = for_columns(options.action_high, 1, "action_high");
  if (highest.empty()) {
    warn(
        fmt::format("warning: action_high is not given: assuming {} discrete actions, 0 to {}, "
                    "because {} is the largest in the data",
                    high_[0] + 1, high_[0], high_[0]));
    return Space::discrete(static_cast<int64_t>(high_[0]) + 1);
  }
  if (highest[0] < high_[0] || highest[0] != std::floor(highest[0]) || highest[0] >= kMostChoices) {
    throw Error(ErrorKind::config, {"", 0, "algo_kwargs.action_high"},
                fmt::format("not the index of the last action (expected a whole number from {} to "
                            "{}, got {:g})",
                            high_[0], kMostChoices - 1, highest[0]));
  }
  return Space::discrete(static_cast<int64_t>(highest[0]) + 1);
}

Space ActionSpaceFinder::space(const DatasetOptions& options,
                               const std::function<void(const std::string&)>& warn) const {
  if (discrete_) return choices(options, warn);
  auto low = for_columns(options.action_low, low_.size(), "action_low");
  auto high = for_columns(options.action_high, high_.size(), "action_high");
  if (options.actions == "unit") {
    // Actions in the file are already in [-1, 1], so -1 and 1 are the default bounds.
    if (low.empty()) low.assign(low_.size(), -1.0);
    if (high.empty()) high.assign(high_.size(), 1.0);
  }
  if (low.empty() || high.empty()) {
    std::vector<std::string> missing;
    if (low.empty()) missing.emplace_back("action_low");
    if (high.empty()) missing.emplace_back("action_high");
    if (low.empty()) low = low_;
    if (high.empty()) high = high_;
    warn("warning: " + join(missing, " and ") + (missing.size() > 1 ? " are" : " is") +
         " not given: actions are bounded by those in the data, " + bounds_text(low, high));
  }
  for (size_t k = 0; k < low.size(); ++k) {
    if (low[k] <= high[k]) continue;
    throw Error(ErrorKind::config, {"", 0, "algo_kwargs.action_low"},
                fmt::format("above action_high in column {} (expected low <= high, got {:g} and "
                            "{:g})",
                            k, low[k], high[k]));
  }
  return Space::box(std::move(low), std::move(high));
}

}  // namespace rl_training
