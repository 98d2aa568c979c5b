#include "rl_training/data/d3rlpy.h"

#include <utility>

#include "rl_training/data/flat_steps.h"
#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/npy_header.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

LoggedSteps read_version_1(Hdf5File& file, const std::string& path,
                           const DatasetReadOptions& options, SandboxOutput& output) {
  const bool choices = options.bounds && options.bounds->is_discrete();
  if (file.has("discrete_action") &&
      (file.read_doubles("discrete_action") != std::vector{0.0}) != choices) {
    throw Error(ErrorKind::data, file.place("discrete_action"),
                choices ? "expected discrete actions" : "expected continuous actions");
  }
  FlatKeys keys;
  keys.obs = {"observations"};
  keys.actions = {"actions"};
  keys.rewards = {"rewards"};
  keys.terminals = {"terminals"};
  keys.episode_ends = {"episode_terminals"};
  return read_flat_steps(file, path, keys, options, output);
}

class Version2Reader {
 public:
  Version2Reader(Hdf5File& file, const DatasetReadOptions& options)
      : file_(file), options_(options) {}

  LoggedSteps read() {
    const auto version = file_.has("version") ? file_.read_text("version") : "2.1";
    if (version != "2.1") {
      throw Error(ErrorKind::data, file_.place("version"),
                  "unknown version (expected 2.1, got " + shortened(version, 20) + ")");
    }
    const auto count = file_.read_doubles("num_episodes");
    if (count.size() != 1 || !(count[0] >= 1 && count[0] < 1e7)) {
      throw Error(ErrorKind::data, file_.place("num_episodes"), "expected a number >= 1");
    }
    for (int64_t episode = 0; episode < static_cast<int64_t>(count[0]); ++episode) {
      read_episode(std::to_string(episode));
    }
    if (marks_.empty()) throw Error(ErrorKind::data, file_.place(""), "no steps");
    result_.obs = Column<float>(std::move(obs_));
    result_.actions = Column<float>(std::move(actions_));
    result_.rewards = Column<double>(std::move(rewards_));
    result_.marks = Column<uint8_t>(std::move(marks_));
    result_.has_timeouts = true;
    if (options_.bounds) result_.categories = options_.bounds->categories;
    return std::move(result_);
  }

 private:
  [[noreturn]] void wrong_shape(const std::string& key, const std::string& wanted) {
    throw Error(ErrorKind::data, file_.place(key),
                "wrong shape (expected " + wanted + ", got " + shape_text(file_.shape(key)) + ")");
  }

  // The keys of the observations of an episode. Each part of a tuple observation has its own key,
  // such as observations_3_0 and observations_3_1.
  std::vector<std::string> obs_keys(const std::string& episode) {
    std::string key = "observations_" + episode;
    if (file_.has(key) || !file_.has(key + "_0")) return {key};
    std::vector<std::string> keys;
    while (file_.has(key + "_" + std::to_string(keys.size()))) {
      keys.push_back(key + "_" + std::to_string(keys.size()));
    }
    return keys;
  }

  void read_episode(const std::string& episode) {
    const std::string action_key = "actions_" + episode, reward_key = "rewards_" + episode;
    auto shape = file_.shape(action_key);
    const bool choices = options_.bounds && options_.bounds->is_discrete();
    if (choices && shape.size() == 1) shape.push_back(1);
    if (shape.size() != 2 || shape[1] < 1 ||
        (result_.action_dim > 0 && shape[1] != result_.action_dim)) {
      wrong_shape(action_key, "(steps, action dims)");
    }
    const int64_t steps = shape[0];
    result_.action_dim = shape[1];
    check_action_dim(file_.place(action_key), options_, shape[1]);

    int64_t obs_dim = 0;
    const auto keys = obs_keys(episode);
    for (const auto& key : keys) {
      const auto part = file_.shape(key);
      if (part.size() != 2 || part[1] < 1 || part[0] != steps) {
        wrong_shape(key, "(" + std::to_string(steps) + ", dims)");
      }
      obs_dim += part[1];
    }
    if (result_.obs_dim > 0 && obs_dim != result_.obs_dim) wrong_shape(keys[0], "as episode 0");
    result_.obs_dim = obs_dim;
    const auto rewards_shape = file_.shape(reward_key);
    if (rewards_shape.empty() || rewards_shape[0] != steps || rewards_shape.size() > 2 ||
        (rewards_shape.size() == 2 && rewards_shape[1] != 1)) {
      wrong_shape(reward_key, "(" + std::to_string(steps) + ", 1)");
    }

    append_obs(keys, steps);
    const size_t first_action = actions_.size();
    actions_.resize(first_action + static_cast<size_t>(steps * shape[1]));
    read_actions(file_, action_key, shape[1], options_, std::span(actions_).subspan(first_action));
    const auto rewards = file_.read_doubles(reward_key);
    if (!options_.allow_nonfinite) check_finite(file_.place(reward_key), rewards, 1);
    rewards_.insert(rewards_.end(), rewards.begin(), rewards.end());
    const std::string flag_key = "terminated_" + episode;
    const auto flags = to_flags(file_.place(flag_key), file_.read_doubles(flag_key));
    if (flags.size() != 1) wrong_shape(flag_key, "()");
    if (steps == 0) return;
    marks_.resize(marks_.size() + static_cast<size_t>(steps), 0);
    marks_.back() = flags[0] != 0 ? LoggedSteps::kTerminal : LoggedSteps::kTimeout;
  }

  void append_obs(const std::vector<std::string>& keys, int64_t steps) {
    const size_t first = obs_.size();
    obs_.resize(first + static_cast<size_t>(steps * result_.obs_dim));
    int64_t column = 0;
    for (const auto& key : keys) {
      const int64_t width = file_.shape(key)[1];
      const auto values = file_.read_floats(key);
      if (!options_.allow_nonfinite) check_finite(file_.place(key), values, width);
      for (size_t i = 0; i < values.size(); ++i) {
        const int64_t row = static_cast<int64_t>(i) / width;
        obs_[first + static_cast<size_t>(row * result_.obs_dim + column) +
             i % static_cast<size_t>(width)] = values[i];
      }
      column += width;
    }
  }

  Hdf5File& file_;
  const DatasetReadOptions& options_;
  std::vector<float> obs_, actions_;
  std::vector<double> rewards_;
  std::vector<uint8_t> marks_;
  LoggedSteps result_;
};

}  // namespace

LoggedSteps read_d3rlpy_steps(const std::string& path, const DatasetReadOptions& options,
                              SandboxOutput& output) {
  Hdf5File file(path);
  forbid_opening_files();
  if (file.has("num_episodes")) return Version2Reader(file, options).read();
  return read_version_1(file, path, options, output);
}

}  // namespace rl_training
