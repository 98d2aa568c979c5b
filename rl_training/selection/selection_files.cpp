#include "rl_training/selection/selection_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "rl_training/selection/ranking.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

Json policy_json(const PolicyEstimate& estimate) {
  Json json = {{"run", estimate.run},
               {"checkpoint", estimate.checkpoint},
               {"value", json_number(estimate.value)},
               {"low", json_number(estimate.low)},
               {"high", json_number(estimate.high)},
               {"rank", estimate.rank},
               {"soft_opc", json_number(estimate.soft_opc)},
               {"td_error", json_number(estimate.td_error)}};
  json["importance"] = nullptr;
  if (const auto& importance = estimate.importance) {
    json["importance"] = {{"per_decision", json_number(importance->weighted_per_decision)},
                          {"doubly_robust", json_number(importance->doubly_robust)},
                          {"effective_episodes", json_number(importance->effective_episodes)},
                          {"usable", importance->effective_episodes >= kUsableEpisodes}};
  }
  if (estimate.truth) json["truth"] = json_number(*estimate.truth);
  return json;
}

Json own_json(const OwnEstimate& own) {
  return {{"value", json_number(own.value)},
          {"low", json_number(own.low)},
          {"high", json_number(own.high)}};
}

Json facts_json(const std::vector<PolicyEstimate>& estimates, const Selection& selection) {
  return {{"candidates", estimates.size()},
          {"dataset_fingerprint", selection.fingerprint()},
          {"gamma", selection.fit_options().gamma},
          {"updates", selection.fit_options().updates},
          {"data_policy", own_json(selection.own_estimate())}};
}

// Returns RUN for RUN/checkpoints/step-..., and "" for a checkpoint outside a run.
std::string run_of(const std::string& checkpoint) {
  const auto parent = std::filesystem::path(checkpoint).parent_path();
  return parent.filename() == "checkpoints" ? parent.parent_path().string() : "";
}

// Shortens a path to "RUN" or "RUN/step-000000300", without other directories.
std::string short_name(const std::string& path) {
  std::filesystem::path place(path);
  if (place.filename().empty()) place = place.parent_path();
  const auto run = run_of(place.string());
  if (run.empty()) return place.filename().string();
  return (std::filesystem::path(run).filename() / place.filename()).string();
}

}  // namespace

SelectionTruth compare_with_truth(const std::vector<PolicyEstimate>& estimates) {
  std::vector<double> truth, values;
  for (const auto& estimate : estimates) {
    truth.push_back(estimate.truth.value());
    values.push_back(estimate.value);
  }
  const auto [smallest, largest] = std::minmax_element(truth.begin(), truth.end());
  return {spearman_correlation(truth, values), *largest - *smallest, regret_at_k(truth, values, 1),
          regret_at_k(truth, values, 3)};
}

Json selection_json(const std::vector<PolicyEstimate>& estimates, const Selection& selection) {
  Json json = facts_json(estimates, selection);
  json["policies"] = Json::array();
  for (const auto& estimate : estimates) json["policies"].push_back(policy_json(estimate));
  json["overlap_with_best"] = overlap_with_best(estimates);
  if (!estimates.front().truth) return json;
  const auto truth = compare_with_truth(estimates);
  json["truth"] = {{"spearman", json_number(truth.spearman)},
                   {"range", json_number(truth.range)},
                   {"regret_1", json_number(truth.regret_1)},
                   {"regret_3", json_number(truth.regret_3)}};
  return json;
}

std::vector<Chart> selection_charts(const std::vector<PolicyEstimate>& estimates) {
  auto sorted = estimates;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  Chart by_rank{"Estimated value", "rank", "discounted return", {}};
  Chart by_truth{"Estimate and truth", "true return", "estimated discounted return", {}};
  for (size_t i = 0; i < sorted.size(); ++i) {
    const auto& each = sorted[i];
    const auto add = [&](Chart& chart, double x) {
      chart.series.push_back({fmt::format("{}: {}", i + 1, short_name(each.run)),
                              {{x, each.value, each.low, each.high}},
                              /*joined=*/false});
    };
    add(by_rank, static_cast<double>(i + 1));
    if (each.truth) add(by_truth, *each.truth);
  }
  if (!estimates.front().truth) return {by_rank};
  return {by_rank, by_truth};
}

void write_into_runs(const std::vector<PolicyEstimate>& estimates, const Selection& selection) {
  std::map<std::string, Json> runs;
  for (const auto& estimate : estimates) {
    const auto run = run_of(estimate.checkpoint);
    if (run.empty()) continue;
    auto& json = runs.try_emplace(run, facts_json(estimates, selection)).first->second;
    json["policies"].push_back(policy_json(estimate));
  }
  for (const auto& [run, json] : runs) {
    write_file_atomically(posix_file_system(), run + "/selection.json", json.dump(2) + "\n");
  }
}

}  // namespace rl_training
