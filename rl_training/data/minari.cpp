#include "rl_training/data/minari.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "rl_training/data/flat_steps.h"
#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/minari_space.h"
#include "rl_training/data/npy_header.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxMetadataBytes = uint64_t{16} << 20;

bool is_dataset_directory(const fs::path& path) {
  std::error_code code;
  return fs::exists(path / "data" / "main_data.hdf5", code) ||
         fs::exists(path / "data" / "metadata.json", code);
}

struct Metadata {
  std::string file;  // for error messages
  std::optional<int64_t> episodes, steps;
  std::optional<std::string> observation_space, action_space, env_spec;  // JSON
  std::optional<double> ref_min_score, ref_max_score;
};

// Since Minari 0.5, the metadata is in metadata.json. Spaces are strings that contain JSON.
Metadata parse_metadata(const std::string& file) {
  auto& files = posix_file_system();
  const ErrorPlace place = {file, 0, ""};
  if (files.file_size(file) > kMaxMetadataBytes) {
    throw Error(ErrorKind::data, place, "larger than the limit of 16 MiB");
  }
  const Json json = parse_python_json(files.read_file(file), place);
  if (!json.is_object()) throw Error(ErrorKind::data, place, "expected a JSON object");
  Metadata metadata;
  metadata.file = file;
  const auto number = [&](const char* key) -> std::optional<int64_t> {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<int64_t>();
  };
  const auto score = [&](const char* key) -> std::optional<double> {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  };
  const auto text = [&](const char* key) -> std::optional<std::string> {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) return std::nullopt;
    return found->is_string() ? found->get<std::string>() : found->dump();
  };
  metadata.episodes = number("total_episodes");
  metadata.steps = number("total_steps");
  metadata.observation_space = text("observation_space");
  metadata.action_space = text("action_space");
  metadata.env_spec = text("env_spec");
  metadata.ref_min_score = score("ref_min_score");
  metadata.ref_max_score = score("ref_max_score");
  const auto format = json.find("data_format");
  if (format != json.end() && format->is_string() && *format != "hdf5") {
    throw Error(ErrorKind::data, {file, 0, "data_format"},
                "storage as " + shortened(format->get<std::string>(), 20) +
                    " is not supported (expected hdf5)");
  }
  return metadata;
}

// Before Minari 0.5, the metadata consists of attributes of the HDF5 root group.
Metadata read_attributes(Hdf5File& file, const std::string& path) {
  Metadata metadata;
  metadata.file = path;
  metadata.episodes = file.integer_attribute("total_episodes");
  metadata.steps = file.integer_attribute("total_steps");
  metadata.observation_space = file.text_attribute("observation_space");
  metadata.action_space = file.text_attribute("action_space");
  metadata.env_spec = file.text_attribute("env_spec");
  return metadata;
}

// Derives the parts of a space from the data, for files that do not describe their spaces. The keys
// of a Dict are sorted, as in Gymnasium.
void list_leaves(Hdf5File& file, const std::string& root, const std::string& path, int depth,
                 std::vector<SpaceLeaf>& leaves) {
  if (!file.is_group(root + path) || depth > 32) {
    leaves.push_back({path, -1});
    return;
  }
  auto names = file.names(root + path);
  // Sorts shorter indices first, so that _index_9 precedes _index_10.
  std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    const bool indices = a.starts_with("_index_") && b.starts_with("_index_");
    return indices && a.size() < b.size();
  });
  for (const auto& name : names) list_leaves(file, root, path + "/" + name, depth + 1, leaves);
}

std::vector<SpaceLeaf> leaves_of(Hdf5File& file, const Metadata& metadata,
                                 const std::optional<std::string>& space, const char* space_key,
                                 const char* data_key, bool continuous) {
  if (space) {
    const ErrorPlace place = {metadata.file, 0, space_key};
    return flatten_space(parse_python_json(*space, place), continuous, place);
  }
  std::vector<SpaceLeaf> leaves;
  list_leaves(file, std::string("episode_0/") + data_key, "", 0, leaves);
  return leaves;
}

class MinariReader {
 public:
  MinariReader(Hdf5File& file, Metadata metadata, const DatasetReadOptions& options)
      : file_(file), metadata_(std::move(metadata)), options_(options) {}

  LoggedSteps read() {
    count_episodes();
    obs_leaves_ = leaves_of(file_, metadata_, metadata_.observation_space, "observation_space",
                            "observations", false);
    find_choices();
    action_leaves_ = leaves_of(file_, metadata_, metadata_.action_space, "action_space", "actions",
                               result_.categories == 0);
    int64_t steps = 0;
    for (int64_t episode = 0; episode < episodes_; ++episode) steps += check_episode(episode);
    check_action_dim(file_.place("episode_0/actions"), options_, width(action_leaves_));
    if (steps == 0) throw Error(ErrorKind::data, file_.place(""), "no steps");
    if (metadata_.steps && *metadata_.steps != steps) {
      warn("total_steps", "total_steps says " + std::to_string(*metadata_.steps) +
                              ", the episodes have " + std::to_string(steps));
    }
    has_next_actions_ = file_.has("episode_0/next_action_valid");
    allocate(steps + episodes_);
    for (int64_t episode = 0; episode < episodes_; ++episode) read_episode(episode);

    result_.obs = Column<float>(std::move(obs_));
    result_.actions = Column<float>(std::move(actions_));
    result_.rewards = Column<double>(std::move(rewards_));
    result_.marks = Column<uint8_t>(std::move(marks_));
    if (has_next_actions_) result_.next_actions = Column<float>(std::move(next_actions_));
    result_.has_timeouts = result_.has_next_observations = true;
    return std::move(result_);
  }

 private:
  static std::string key_of(int64_t episode) { return "episode_" + std::to_string(episode); }

  void warn(const std::string& code, const std::string& message,
            std::optional<int64_t> row = std::nullopt) {
    if (result_.warnings.size() < 100) result_.warnings.push_back({code, message, row});
  }

  void count_episodes() {
    if (metadata_.episodes) {
      episodes_ = *metadata_.episodes;
      if (episodes_ < 0 || episodes_ > 10'000'000) {
        throw Error(ErrorKind::data, {metadata_.file, 0, "total_episodes"}, "out of range");
      }
      if (file_.has(key_of(episodes_))) {
        warn("total_episodes", "total_episodes says " + std::to_string(episodes_) + ", but " +
                                   key_of(episodes_) + " exists but is not read");
      }
    } else {
      warn("no_metadata", "no total_episodes: counted the episodes in the file");
      while (file_.has(key_of(episodes_))) ++episodes_;
    }
    if (episodes_ == 0) throw Error(ErrorKind::data, file_.place(""), "no episodes");
  }

  // Sets the number of discrete actions from the action space of the dataset. If the dataset does
  // not describe its action space, uses the action space of the environment.
  void find_choices() {
    const ErrorPlace place = {metadata_.file, 0, "action_space"};
    const int64_t wanted = options_.bounds ? options_.bounds->categories : 0;
    result_.categories = wanted;
    if (!metadata_.action_space) return;
    result_.categories = discrete_choices(parse_python_json(*metadata_.action_space, place), place);
    if (!options_.bounds || result_.categories == wanted) return;
    const auto shown = [](int64_t choices) {
      return choices > 0 ? std::to_string(choices) + " choices" : "a Box space";
    };
    throw Error(ErrorKind::data, place,
                std::string("expected ") + (wanted > 0 ? "discrete" : "continuous") + " actions (" +
                    shown(wanted) + "), got " + shown(result_.categories));
  }

  static int64_t width(const std::vector<SpaceLeaf>& leaves) {
    int64_t sum = 0;
    for (const auto& leaf : leaves) sum += leaf.width;
    return sum;
  }

  // Checks only the shapes. Returns the number of steps.
  int64_t check_episode(int64_t episode) {
    const std::string key = key_of(episode);
    if (!file_.is_group(key)) {
      throw Error(
          ErrorKind::data, file_.place(key),
          "the file has no such episode (total_episodes says " + std::to_string(episodes_) + ")");
    }
    const auto rewards = file_.shape(key + "/rewards");
    if (rewards.size() != 1 && !(rewards.size() == 2 && rewards[1] == 1)) {
      throw Error(ErrorKind::data, file_.place(key + "/rewards"),
                  "wrong shape (expected (steps,), got " + shape_text(rewards) + ")");
    }
    // Uses the number of actions as the number of steps, because the rewards are more often
    // incomplete. If the arrays differ in length, the error then names the rewards.
    const int64_t steps = file_.shape(key + "/actions" + action_leaves_[0].path).at(0);
    check_rows(key + "/rewards", steps);
    check_rows(key + "/terminations", steps);
    check_rows(key + "/truncations", steps);
    for (auto& leaf : action_leaves_) check_leaf(key + "/actions" + leaf.path, steps, leaf);
    for (auto& leaf : obs_leaves_) check_leaf(key + "/observations" + leaf.path, steps + 1, leaf);
    return steps;
  }

  void check_rows(const std::string& key, int64_t rows) {
    const auto shape = file_.shape(key);
    const bool column = shape.size() == 2 && shape[1] == 1;
    if ((shape.size() == 1 || column) && shape[0] == rows) return;
    throw Error(ErrorKind::data, file_.place(key),
                "wrong shape (expected " + shape_text(std::vector<int64_t>{rows}) + ", got " +
                    shape_text(shape) + ")");
  }

  void check_leaf(const std::string& key, int64_t rows, SpaceLeaf& leaf) {
    const auto shape = file_.shape(key);
    int64_t columns = 1;
    for (size_t i = 1; i < shape.size(); ++i) columns *= shape[i];
    if (leaf.width < 0 && columns > 0) leaf.width = columns;
    if (!shape.empty() && shape[0] == rows && columns == leaf.width) return;
    throw Error(ErrorKind::data, file_.place(key),
                "wrong shape (expected " + std::to_string(rows) + " rows of " +
                    std::to_string(leaf.width) + " numbers, got " + shape_text(shape) + ")");
  }

  void allocate(int64_t slots) {
    result_.obs_dim = width(obs_leaves_);
    result_.action_dim = width(action_leaves_);
    if (slots > kMaxHdf5Bytes / 4 / std::max<int64_t>(1, result_.obs_dim + result_.action_dim)) {
      throw Error(ErrorKind::data, file_.place(""), "the arrays exceed the limit of 8 GiB");
    }
    obs_.reserve(static_cast<size_t>(slots * result_.obs_dim));
    actions_.reserve(static_cast<size_t>(slots * result_.action_dim));
    rewards_.reserve(static_cast<size_t>(slots));
    marks_.reserve(static_cast<size_t>(slots));
  }

  // Appends `rows` rows to `out`, each with all leaves concatenated.
  void read_leaves(const std::string& root, const std::vector<SpaceLeaf>& leaves, int64_t dims,
                   const Space* bounds, int64_t categories, std::vector<float>& out, int64_t rows) {
    const size_t first = out.size();
    out.resize(first + static_cast<size_t>(rows * dims), 0.0f);
    int64_t column = 0;
    for (const auto& leaf : leaves) {
      const std::string key = root + leaf.path;
      const auto values = file_.read_doubles(key);
      if (!options_.allow_nonfinite) check_finite(file_.place(key), values, leaf.width);
      if (categories > 0) check_choices(file_.place(key), values, categories);
      for (size_t i = 0; i < values.size(); ++i) {
        const int64_t row = static_cast<int64_t>(i) / leaf.width;
        const int64_t target = column + static_cast<int64_t>(i) % leaf.width;
        out[first + static_cast<size_t>(row * dims + target)] =
            bounds ? bounds->to_unit(target, values[i]) : static_cast<float>(values[i]);
      }
      column += leaf.width;
    }
  }

  void read_episode(int64_t episode) {
    const std::string key = key_of(episode);
    const auto rewards = file_.read_doubles(key + "/rewards");
    if (!options_.allow_nonfinite) check_finite(file_.place(key + "/rewards"), rewards, 1);
    const auto first_row = static_cast<int64_t>(marks_.size()) - episode;
    const auto steps = static_cast<int64_t>(rewards.size());
    const size_t first = marks_.size();
    marks_.resize(first + rewards.size(), 0);
    add_flags(key + "/terminations", LoggedSteps::kTerminal, first);
    add_flags(key + "/truncations", LoggedSteps::kTimeout, first);
    if (steps > 0 && file_.has(key + "/unflagged_end")) {
      marks_.back() &= static_cast<uint8_t>(~LoggedSteps::kTimeout);
    } else if (steps > 0 && marks_.back() == 0) {
      marks_.back() = LoggedSteps::kTimeout;
      warn("no_end_flag", key + " ends without a flag: treated as truncated",
           first_row + steps - 1);
    }
    marks_.push_back(LoggedSteps::kObservationOnly);
    rewards_.insert(rewards_.end(), rewards.begin(), rewards.end());
    rewards_.push_back(0);
    read_leaves(key + "/observations", obs_leaves_, result_.obs_dim, nullptr, 0, obs_, steps + 1);
    // Appends `steps + 1` rows, although the file has `steps` actions: the additional row, for the
    // slot of the last observation, consists of zeros.
    const Space* bounds = result_.categories > 0 ? nullptr : options_.bounds;
    read_leaves(key + "/actions", action_leaves_, result_.action_dim, bounds, result_.categories,
                actions_, steps + 1);
    if (!has_next_actions_) return;
    for (auto leaf : action_leaves_) check_leaf(key + "/next_actions" + leaf.path, steps, leaf);
    check_rows(key + "/next_action_valid", steps);
    read_leaves(key + "/next_actions", action_leaves_, result_.action_dim, bounds,
                result_.categories, next_actions_, steps + 1);
    add_valid_marks(key + "/next_action_valid", first);
  }

  void add_valid_marks(const std::string& key, size_t first) {
    const auto flags = to_flags(file_.place(key), file_.read_doubles(key));
    for (size_t row = 0; row < flags.size(); ++row) {
      if (flags[row] != 0) marks_[first + row] |= LoggedSteps::kNextActionValid;
    }
  }

  void add_flags(const std::string& key, uint8_t mark, size_t first) {
    const auto flags = to_flags(file_.place(key), file_.read_doubles(key));
    for (size_t row = 0; row < flags.size(); ++row) {
      if (flags[row] == 0) continue;
      if (row + 1 < flags.size()) {
        throw Error(ErrorKind::data, file_.place(key),
                    "row " + std::to_string(row) + " ends the episode before its last step, " +
                        std::to_string(flags.size() - 1));
      }
      marks_[first + row] |= mark;
    }
  }

  Hdf5File& file_;
  Metadata metadata_;
  const DatasetReadOptions& options_;
  int64_t episodes_ = 0;
  std::vector<SpaceLeaf> obs_leaves_, action_leaves_;
  bool has_next_actions_ = false;  // only in files written by this program
  std::vector<float> obs_, actions_, next_actions_;
  std::vector<double> rewards_;
  std::vector<uint8_t> marks_;
  LoggedSteps result_;
};

}  // namespace

std::string find_minari_dataset(const std::string& path_or_id) {
  const fs::path path(path_or_id);
  if (is_dataset_directory(path)) return path_or_id;
  const char* root = std::getenv("MINARI_DATASETS_PATH");
  const char* home = std::getenv("HOME");
  fs::path base = root ? fs::path(root) : fs::path(home ? home : ".") / ".minari" / "datasets";
  if (path.is_relative() && is_dataset_directory(base / path)) return (base / path).string();
  return "";
}

std::string minari_data_file(const std::string& path_or_id) {
  const std::string directory = find_minari_dataset(path_or_id);
  if (directory.empty()) {
    throw Error(ErrorKind::data, {path_or_id, 0, ""},
                "no Minari dataset (expected a directory with data/main_data.hdf5, or an id below "
                "$MINARI_DATASETS_PATH)");
  }
  return directory + "/data/main_data.hdf5";
}

namespace {

// Reads metadata.json next to the data file, or the attributes of the data file if there is no
// metadata.json. Also opens the data file as `file`.
Metadata read_metadata(const std::string& path, std::optional<Hdf5File>& file) {
  const auto metadata_path = (fs::path(path).parent_path() / "metadata.json").string();
  const bool has_metadata = posix_file_system().exists(metadata_path);
  Metadata metadata;
  if (has_metadata) metadata = parse_metadata(metadata_path);
  file.emplace(path);
  forbid_opening_files();
  return has_metadata ? metadata : read_attributes(*file, path);
}

}  // namespace

MinariTask read_minari_task(const std::string& data_file) {
  const auto look = [&](SandboxOutput& output) {
    std::optional<Hdf5File> file;
    const auto metadata = read_metadata(data_file, file);
    Json facts = {{"env_id", ""}};
    if (metadata.env_spec) {
      const Json spec = parse_untrusted_json(*metadata.env_spec);
      if (spec.is_object() && spec.contains("id") && spec.at("id").is_string()) {
        facts["env_id"] = shortened(printable(spec.at("id").get<std::string>()), 100);
      }
    }
    if (metadata.ref_min_score && metadata.ref_max_score) {
      facts["scores"] = {*metadata.ref_min_score, *metadata.ref_max_score};
    }
    output.text(facts.dump());
  };
  const auto sent = run_in_sandbox(data_file, SandboxLimits::for_file(data_file), look);
  const Json facts = facts_of_reader(sent.text, data_file);
  MinariTask task;
  task.env_id = facts.at("env_id").get<std::string>();
  if (facts.contains("scores")) {
    task.ref_min_score = facts.at("scores").at(0).get<double>();
    task.ref_max_score = facts.at("scores").at(1).get<double>();
  }
  return task;
}

LoggedSteps read_minari_steps(const std::string& path, const DatasetReadOptions& options,
                              SandboxOutput&) {
  std::optional<Hdf5File> file;
  auto metadata = read_metadata(path, file);
  return MinariReader(*file, std::move(metadata), options).read();
}

}  // namespace rl_training
