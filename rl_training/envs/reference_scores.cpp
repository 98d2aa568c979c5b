#include "rl_training/envs/reference_scores.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace rl_training {
namespace {

using Names = std::vector<std::string_view>;

// Scores that all ids "<task>-<dataset>-<version>" share. If a dataset name is empty, the id is
// "<task>-<version>".
struct Family {
  std::string_view task;
  Names datasets, versions;
  ReferenceScores scores;
};

const std::vector<Family>& families() {
  static const Names gym = {"random",        "medium",        "expert",
                            "medium-replay", "medium-expert", "full-replay"};
  static const Names gym_versions = {"v0", "v1", "v2"};
  static const Names adroit = {"human", "cloned", "expert"};
  static const Names adroit_versions = {"v0", "v1"};
  static const Names antmaze = {"umaze",          "umaze-diverse", "medium-play",
                                "medium-diverse", "large-play",    "large-diverse"};
  static const std::vector<Family> table = {
      {"halfcheetah", gym, gym_versions, {-280.178953, 12135.0}},
      {"hopper", gym, gym_versions, {-20.272305, 3234.3}},
      {"walker2d", gym, gym_versions, {1.629008, 4592.3}},
      {"ant", gym, gym_versions, {-325.6, 3879.7}},
      {"pen", adroit, adroit_versions, {96.262799, 3076.8331017826877}},
      {"hammer", adroit, adroit_versions, {-274.856578, 12794.134825156867}},
      {"relocate", adroit, adroit_versions, {-6.425911, 4233.877797728884}},
      {"door", adroit, adroit_versions, {-56.512833, 2880.5693087298737}},
      {"antmaze", antmaze, {"v0", "v2"}, {0, 1}},
      {"kitchen", {"complete", "partial", "mixed"}, {"v0"}, {0, 4}},
      {"maze2d-open", {""}, {"v0"}, {0.01, 20.66}},
      {"maze2d-open", {"dense"}, {"v0"}, {11.17817, 27.166538620695782}},
      {"maze2d-umaze", {""}, {"v1"}, {23.85, 161.86}},
      {"maze2d-umaze", {"dense"}, {"v1"}, {68.537689, 193.66285642381482}},
      {"maze2d-medium", {""}, {"v1"}, {13.13, 277.39}},
      {"maze2d-medium", {"dense"}, {"v1"}, {44.264742, 297.4552547777125}},
      {"maze2d-large", {""}, {"v1"}, {6.7, 273.99}},
      {"maze2d-large", {"dense"}, {"v1"}, {30.569041, 303.4857382709002}},
  };
  return table;
}

bool has_id(const Family& family, std::string_view id) {
  for (const std::string_view dataset : family.datasets) {
    std::string start = std::string(family.task) + "-";
    if (!dataset.empty()) start += std::string(dataset) + "-";
    if (!id.starts_with(start)) continue;
    const auto version = id.substr(start.size());
    if (std::find(family.versions.begin(), family.versions.end(), version) !=
        family.versions.end()) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<ReferenceScores> reference_scores(const std::string& task_id) {
  static const std::map<std::string, std::string> environments = {
      {"Hopper-v4", "hopper-medium-v2"},
      {"HalfCheetah-v4", "halfcheetah-medium-v2"},
      {"Walker2d-v4", "walker2d-medium-v2"},
      {"Hopper-v2", "hopper-medium-v2"},
      {"HalfCheetah-v2", "halfcheetah-medium-v2"},
      {"Walker2d-v2", "walker2d-medium-v2"},
      {"Ant-v2", "ant-medium-v2"},
      {"Ant-v4", "ant-medium-v2"},
      {"Ant-v4-d4rl", "ant-medium-v2"}};
  if (const auto found = environments.find(task_id); found != environments.end()) {
    return reference_scores(found->second);
  }
  for (const Family& family : families()) {
    if (has_id(family, task_id)) return family.scores;
  }
  return std::nullopt;
}

std::optional<double> normalized_score(const std::string& task_id, double episode_return,
                                       const std::optional<ReferenceScores>& others) {
  const auto own = reference_scores(task_id);
  const auto& scores = own ? own : others;
  if (!scores) return std::nullopt;
  return 100 * (episode_return - scores->random) / (scores->expert - scores->random);
}

}  // namespace rl_training
