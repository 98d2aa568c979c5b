#include "rl_training/data/robomimic.h"

#include <algorithm>
#include <utility>

#include "rl_training/data/flat_steps.h"
#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/key_map.h"
#include "rl_training/data/npy_header.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

class RobomimicReader {
 public:
  RobomimicReader(Hdf5File& file, const std::string& path, const DatasetReadOptions& options)
      : file_(file), options_(options), map_(KeyMap::parse({path, 0, ""}, options.keys)) {
    for (const auto& [role, names] : map_.names) {
      if (role == "obs") continue;
      throw Error(ErrorKind::data, {path, 0, role},
                  "has a fixed name in robomimic files (expected obs=name,name or nothing)");
    }
  }

  LoggedSteps read() {
    const auto demos = list_demos();
    choose_observations("data/" + demos[0]);
    result_.has_next_observations =
        parts_ != std::vector<std::string>{"states"} && file_.has("data/" + demos[0] + "/next_obs");
    for (const auto& demo : demos) read_demo("data/" + demo);
    if (marks_.empty()) throw Error(ErrorKind::data, file_.place("data"), "no steps");
    name_observations("data/" + demos[0]);
    if (terminations_ > 0) {
      warn("dones", "`dones` is treated as termination: " + std::to_string(terminations_) +
                        " demonstrations end at their first one, " + std::to_string(left_out_) +
                        " later steps are omitted");
    }
    result_.obs = Column<float>(std::move(obs_));
    result_.actions = Column<float>(std::move(actions_));
    result_.rewards = Column<double>(std::move(rewards_));
    result_.marks = Column<uint8_t>(std::move(marks_));
    result_.has_timeouts = true;
    if (options_.bounds) result_.categories = options_.bounds->categories;
    return std::move(result_);
  }

 private:
  void warn(const std::string& code, const std::string& message) {
    result_.warnings.push_back({code, message, std::nullopt});
  }
  [[noreturn]] void wrong_shape(const std::string& key, const std::string& wanted) {
    throw Error(ErrorKind::data, file_.place(key),
                "wrong shape (expected " + wanted + ", got " + shape_text(file_.shape(key)) + ")");
  }

  // Returns the demonstrations in the order of their numbers: demo_2 precedes demo_10.
  std::vector<std::string> list_demos() {
    auto names = file_.names("data");
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("demo"); });
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    if (names.empty()) {
      throw Error(ErrorKind::data, file_.place("data"), "no demonstrations (expected data/demo_0)");
    }
    return names;
  }

  void choose_observations(const std::string& demo) {
    if (map_.has("obs")) {
      for (const auto& name : map_.names.at("obs")) parts_.push_back("obs/" + name);
      return;
    }
    if (!file_.has(demo + "/obs")) {
      parts_ = {"states"};
      warn("states", "the demonstrations have no obs: using `states` instead");
      return;
    }
    std::vector<std::string> images;
    for (const auto& name : file_.names(demo + "/obs")) {
      const bool vector = file_.shape(demo + "/obs/" + name).size() <= 2;
      (vector ? parts_ : images).push_back(vector ? "obs/" + name : name);
    }
    if (!images.empty()) warn("images", "left out: " + join(images, ", "));
    if (parts_.empty()) {
      throw Error(ErrorKind::data, file_.place(demo + "/obs"),
                  "only images, which are not read from files (expected vectors)");
    }
  }

  int64_t width_of(const std::string& key, int64_t steps) {
    const auto shape = file_.shape(key);
    if (shape.empty() || shape.size() > 2 || shape[0] != steps ||
        (shape.size() == 2 && shape[1] < 1))
      wrong_shape(key, "(" + std::to_string(steps) + ", dims)");
    return shape.size() == 2 ? shape[1] : 1;
  }

  // Concatenates the columns of all parts and appends the rows [first, first + count) to obs_.
  void append_parts(const std::string& demo, const std::string& group, int64_t steps, int64_t first,
                    int64_t count) {
    int64_t dims = 0;
    std::vector<int64_t> widths;
    std::vector<std::string> keys;
    for (const auto& part : parts_) {
      keys.push_back(demo + "/" + group + part.substr(group.empty() ? 0 : 3));
      widths.push_back(width_of(keys.back(), steps));
      dims += widths.back();
    }
    if (result_.obs_dim > 0 && dims != result_.obs_dim)
      wrong_shape(keys[0], "as in the first demo");
    result_.obs_dim = dims;
    const size_t start = obs_.size();
    obs_.resize(start + static_cast<size_t>(count * dims));
    int64_t column = 0;
    for (size_t part = 0; part < keys.size(); ++part) {
      const auto values = file_.read_floats(keys[part]);
      const int64_t width = widths[part];
      if (!options_.allow_nonfinite) check_finite(file_.place(keys[part]), values, width);
      for (int64_t row = 0; row < count; ++row) {
        const auto from = values.begin() + (first + row) * width;
        std::copy(from, from + width,
                  obs_.begin() + static_cast<std::ptrdiff_t>(start) + row * dims + column);
      }
      column += width;
    }
  }

  // Returns the number of steps up to and including the first set flag of `dones`, and whether
  // there is such a flag.
  std::pair<int64_t, bool> end_of(const std::string& demo, int64_t steps) {
    const std::string key = demo + "/dones";
    if (!file_.has(key)) return {steps, false};
    width_of(key, steps);
    const auto flags = to_flags(file_.place(key), file_.read_doubles(key));
    const auto first = std::find(flags.begin(), flags.end(), uint8_t{1});
    return first == flags.end() ? std::pair{steps, false}
                                : std::pair{(first - flags.begin()) + int64_t{1}, true};
  }

  void read_demo(const std::string& demo) {
    const std::string action_key = demo + "/actions", reward_key = demo + "/rewards";
    const auto shape = file_.shape(action_key);
    if (shape.size() != 2 || shape[1] < 1 ||
        (result_.action_dim > 0 && shape[1] != result_.action_dim)) {
      wrong_shape(action_key, "(steps, action dims)");
    }
    const int64_t steps = shape[0];
    if (steps == 0) return;
    result_.action_dim = shape[1];
    check_action_dim(file_.place(action_key), options_, shape[1]);
    const auto [count, terminated] = end_of(demo, steps);
    append_parts(demo, "", steps, 0, count);
    const bool successor = result_.has_next_observations;
    if (successor) append_parts(demo, "next_obs", steps, count - 1, 1);

    std::vector<float> actions(static_cast<size_t>(steps * shape[1]));
    read_actions(file_, action_key, shape[1], options_, actions);
    actions.resize(static_cast<size_t>((count + (successor ? 1 : 0)) * shape[1]), 0.0f);
    if (successor) std::fill(actions.end() - shape[1], actions.end(), 0.0f);
    actions_.insert(actions_.end(), actions.begin(), actions.end());
    read_rewards(reward_key, steps, count);
    marks_.resize(marks_.size() + static_cast<size_t>(count), 0);
    marks_.back() = terminated ? LoggedSteps::kTerminal : LoggedSteps::kTimeout;
    terminations_ += terminated ? 1 : 0;
    left_out_ += steps - count;
    if (!successor) return;
    rewards_.push_back(0);
    marks_.push_back(LoggedSteps::kObservationOnly);
  }

  void read_rewards(const std::string& key, int64_t steps, int64_t count) {
    if (!file_.has(key)) {
      if (!warned_of_rewards_) {
        warn("no_rewards",
             "the file has no rewards: they are set to 0, from which only bc can learn");
      }
      warned_of_rewards_ = true;
      rewards_.resize(rewards_.size() + static_cast<size_t>(count), 0.0);
      return;
    }
    width_of(key, steps);
    const auto rewards = file_.read_doubles(key);
    if (!options_.allow_nonfinite) check_finite(file_.place(key), rewards, 1);
    rewards_.insert(rewards_.end(), rewards.begin(), rewards.begin() + count);
  }

  void name_observations(const std::string& demo) {
    for (const auto& part : parts_) {
      const auto shape = file_.shape(demo + "/" + part);
      const int64_t width = shape.size() == 2 ? shape[1] : 1;
      const auto name = shortened(printable(part.starts_with("obs/") ? part.substr(4) : part), 200);
      for (int64_t k = 0; k < width; ++k) {
        result_.observation_names.push_back(width == 1 ? name
                                                       : name + "[" + std::to_string(k) + "]");
      }
    }
  }

  Hdf5File& file_;
  const DatasetReadOptions& options_;
  KeyMap map_;
  std::vector<std::string> parts_;  // paths of the observation arrays within a demonstration
  std::vector<float> obs_, actions_;
  std::vector<double> rewards_;
  std::vector<uint8_t> marks_;
  int64_t terminations_ = 0, left_out_ = 0;
  bool warned_of_rewards_ = false;
  LoggedSteps result_;
};

}  // namespace

LoggedSteps read_robomimic_steps(const std::string& path, const DatasetReadOptions& options,
                                 SandboxOutput&) {
  Hdf5File file(path);
  forbid_opening_files();
  return RobomimicReader(file, path, options).read();
}

}  // namespace rl_training
