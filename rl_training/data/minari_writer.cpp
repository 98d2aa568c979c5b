#include "rl_training/data/minari_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <regex>

#include "rl_training/data/flat_arrays.h"
#include "rl_training/data/hdf5_writer.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/json.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

// Version of the file layout. A release of Minari reads files of its own version and of older
// versions.
constexpr const char* kMinariVersion = "0.5.0";

// The arrays of one episode. Rewards are doubles, as in Minari.
struct EpisodeArrays {
  std::vector<float> obs, actions;
  std::vector<int64_t> choices;  // discrete actions; `actions` is then empty
  std::vector<double> rewards;
  std::vector<uint8_t> terminations, truncations;
  // The next three arrays are empty if the dataset has no next actions.
  std::vector<float> next_actions;
  std::vector<int64_t> next_choices;
  std::vector<uint8_t> next_action_valid;
  // Whether the episode ends without a flag. Minari cannot express this, so the last step is stored
  // as truncated.
  bool unflagged_end = false;

  EpisodeArrays(const TransitionDataset& dataset, const Episode& episode, const Space* bounds) {
    const int64_t width = dataset.obs_dim(), end = episode.first_row + episode.rows;
    for (int64_t row = episode.first_row; row < end; ++row) {
      obs.insert(obs.end(), dataset.obs(row), dataset.obs(row) + width);
      if (dataset.action_space().is_discrete()) {
        choices.push_back(dataset.choice(row));
      } else {
        append_actions(dataset, bounds, dataset.action(row), actions);
      }
      rewards.push_back(dataset.reward(row));
      terminations.push_back(dataset.terminated(row) ? 1 : 0);
      truncations.push_back(dataset.truncated(row) ? 1 : 0);
      if (!dataset.has_next_actions()) continue;
      if (dataset.action_space().is_discrete()) {
        next_choices.push_back(dataset.next_choice(row));
      } else {
        append_actions(dataset, bounds, dataset.next_action(row), next_actions);
      }
      next_action_valid.push_back(dataset.next_action_valid(row) ? 1 : 0);
    }
    const float* last = dataset.next_obs(end - 1);
    obs.insert(obs.end(), last, last + width);
    unflagged_end = terminations.back() == 0 && truncations.back() == 0;
    if (unflagged_end) truncations.back() = 1;
  }
};

void add_reward_facts(Hdf5Writer& file, const std::string& group,
                      const std::vector<double>& rewards) {
  double sum = 0, squares = 0;
  for (const double reward : rewards) sum += reward;
  const double mean = sum / static_cast<double>(rewards.size());
  for (const double reward : rewards) squares += (reward - mean) * (reward - mean);
  file.add_attribute(group, "rewards_sum", sum);
  file.add_attribute(group, "rewards_mean", mean);
  file.add_attribute(group, "rewards_std",
                     std::sqrt(squares / static_cast<double>(rewards.size())));
  file.add_attribute(group, "rewards_min", *std::min_element(rewards.begin(), rewards.end()));
  file.add_attribute(group, "rewards_max", *std::max_element(rewards.begin(), rewards.end()));
}

std::vector<char> hdf5_bytes(const TransitionDataset& given, const Space* bounds) {
  const TransitionDataset dataset = with_known_next_actions(given);
  Hdf5Writer file(Hdf5Storage::extendable);
  int64_t number = 0;
  const auto add_actions = [&](const std::string& key, int64_t rows,
                               const std::vector<float>& values,
                               const std::vector<int64_t>& choices) {
    if (dataset.action_space().is_discrete()) {
      file.add(key, std::array{rows}, std::span<const int64_t>(choices));
    } else {
      file.add(key, std::array{rows, dataset.action_dim()}, std::span<const float>(values));
    }
  };
  for (const Episode& episode : dataset.episodes()) {
    const EpisodeArrays arrays(dataset, episode, bounds);
    const std::string group = "episode_" + std::to_string(number);
    file.add(group + "/observations", std::array{episode.rows + 1, dataset.obs_dim()},
             std::span<const float>(arrays.obs));
    add_actions(group + "/actions", episode.rows, arrays.actions, arrays.choices);
    file.add(group + "/rewards", std::array{episode.rows}, std::span<const double>(arrays.rewards));
    file.add_flags(group + "/terminations", arrays.terminations);
    file.add_flags(group + "/truncations", arrays.truncations);
    // Only the reader of this program uses these arrays. Minari ignores unknown arrays.
    if (dataset.has_next_actions()) {
      add_actions(group + "/next_actions", episode.rows, arrays.next_actions, arrays.next_choices);
      file.add_flags(group + "/next_action_valid", arrays.next_action_valid);
    }
    if (arrays.unflagged_end) file.add_flags(group + "/unflagged_end", std::vector<uint8_t>{1});
    file.add_attribute(group, "id", number);
    file.add_attribute(group, "total_steps", episode.rows);
    add_reward_facts(file, group, arrays.rewards);
    ++number;
  }
  return file.bytes();
}

// A list of numbers in the format of Python's json module, which writes Infinity without quotes.
std::string python_list(const std::vector<double>& values) {
  std::string text = "[";
  for (const double value : values) {
    if (text.size() > 1) text += ", ";
    text += std::isinf(value) ? (value < 0 ? "-Infinity" : "Infinity") : Json(value).dump();
  }
  return text + "]";
}

std::string box_space(const std::vector<double>& low, const std::vector<double>& high) {
  return R"({"type": "Box", "dtype": "float32", "shape": [)" + std::to_string(low.size()) +
         R"(], "low": )" + python_list(low) + R"(, "high": )" + python_list(high) + "}";
}

std::string unbounded_space(int64_t dims) {
  const auto size = static_cast<size_t>(dims);
  return box_space(std::vector<double>(size, -INFINITY), std::vector<double>(size, INFINITY));
}

std::string action_space(const TransitionDataset& dataset, const Space* bounds) {
  if (dataset.action_space().is_discrete()) {
    return R"({"type": "Discrete", "dtype": "int64", "start": 0, "n": )" +
           std::to_string(dataset.action_space().categories) + "}";
  }
  return bounds ? box_space(bounds->low, bounds->high) : unbounded_space(dataset.action_dim());
}

Json metadata(const TransitionDataset& dataset, const MinariDetails& details, const std::string& id,
              size_t file_bytes) {
  const auto megabytes = static_cast<double>(file_bytes) / 1e6;
  return {{"total_episodes", dataset.episodes().size()},
          {"total_steps", dataset.rows()},
          {"data_format", "hdf5"},
          {"observation_space", unbounded_space(dataset.obs_dim())},
          {"action_space", action_space(dataset, details.bounds)},
          {"dataset_size", std::round(megabytes * 10) / 10},
          {"dataset_id", id},
          {"code_permalink", "none"},
          {"author", Json::array({"unknown"})},
          {"author_email", Json::array({"unknown"})},
          {"algorithm_name", details.algorithm_name},
          {"minari_version", kMinariVersion}};
}

}  // namespace

void save_minari_dataset(const TransitionDataset& dataset, const std::string& directory,
                         const MinariDetails& details) {
  check_writable(dataset);
  const auto place = fs::path(directory).lexically_normal();
  const auto path = (place.has_filename() ? place : place.parent_path()).string();
  const auto name = fs::path(path).filename().string();
  const auto id = details.dataset_id.empty() ? name : details.dataset_id;
  if (!std::regex_match(id, std::regex("([A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]+-v[0-9]+"))) {
    throw Error(ErrorKind::config, {path, 0, ""},
                "not an id of a Minari dataset (expected a name that ends in -v0, -v1, ...)");
  }
  auto& files = posix_file_system();
  if (files.exists(path)) throw Error(ErrorKind::io, {path, 0, ""}, "already exists");
  const auto limits = SandboxLimits::for_writing(
      dataset.rows() * 8 * (dataset.obs_dim() + dataset.action_dim() + 2) +
      static_cast<int64_t>(dataset.episodes().size()) * 32768);
  const Space* bounds = details.scale_actions ? details.bounds : nullptr;
  const auto result = run_in_sandbox(path, limits, [&](SandboxOutput& output) {
    const auto image = hdf5_bytes(dataset, bounds);
    output.array(image.data(), static_cast<int64_t>(image.size()));
  });
  const auto image = result.arrays.at(0).span();

  // Writes to a temporary directory and renames it, so that readers never see a partial dataset.
  const auto temporary = path + ".tmp-" + std::to_string(::getpid());
  try {
    files.make_directories(temporary + "/data");
    files.write_file(temporary + "/data/main_data.hdf5",
                     {reinterpret_cast<const char*>(image.data()), image.size()});
    files.write_file(temporary + "/data/metadata.json",
                     metadata(dataset, details, id, image.size()).dump() + "\n");
    files.sync_directory(temporary + "/data");
    files.rename(temporary, path);
  } catch (const Error&) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  const auto parent = fs::path(path).parent_path().string();
  files.sync_directory(parent.empty() ? "." : parent);
}

}  // namespace rl_training
