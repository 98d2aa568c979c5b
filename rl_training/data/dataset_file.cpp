#include "rl_training/data/dataset_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "rl_training/data/csv_dataset.h"
#include "rl_training/data/d3rlpy.h"
#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_columns.h"
#include "rl_training/data/foreign_format.h"
#include "rl_training/data/gzip.h"
#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/inspect.h"
#include "rl_training/data/joined_files.h"
#include "rl_training/data/minari.h"
#include "rl_training/data/npz.h"
#include "rl_training/data/robomimic.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/data/sandbox_channel.h"
#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

struct Kind {
  const char* name;
  LoggedSteps (*read)(const std::string& path, const DatasetReadOptions& options,
                      SandboxOutput& output);
  TimeoutPolicy policy;
  bool takes_keys = false;  // whether DatasetReadOptions::keys can name its arrays or columns
  // Set for kinds of files that may store arrays plainly (plain_file.h). `describe_plain` runs in a
  // sandbox and finds the positions of the arrays. `read_plain` reads the values outside the
  // sandbox.
  Json (*describe_plain)(const std::string& path) = nullptr;
  LoggedSteps (*read_plain)(const std::string& path, const Json& description,
                            const DatasetReadOptions& options, ArrayMemory& memory) = nullptr;
};

constexpr std::array kKinds = {
    Kind{"d4rl", read_d4rl_steps, TimeoutPolicy::drop, true, describe_plain_d4rl,
         read_plain_d4rl_steps},
    Kind{"minari", read_minari_steps, TimeoutPolicy::keep},
    Kind{"d3rlpy", read_d3rlpy_steps, TimeoutPolicy::keep},
    Kind{"robomimic", read_robomimic_steps, TimeoutPolicy::keep, true},
    Kind{"npz", read_npz_steps, TimeoutPolicy::keep, true},
    Kind{"csv", read_csv_steps, TimeoutPolicy::keep, true},
};

const Kind& find_kind(const std::string& name) {
  for (const auto& kind : kKinds) {
    if (name == kind.name) return kind;
  }
  throw Error(ErrorKind::config, {"", 0, "dataset_kind"},
              "unknown kind of dataset file (expected " + join(dataset_file_kinds(), ", ") +
                  ", got " + shortened(name, 40) + did_you_mean(name, dataset_file_kinds()) + ")");
}

// Returns the kind of the file at `path`. Throws if this kind does not support the options.
const Kind& kind_for(const std::string& name, const std::string& path,
                     const DatasetReadOptions& options) {
  const auto& kind = find_kind(name == "auto" ? detect_dataset_kind(path) : name);
  if (options.keys.empty() || kind.takes_keys) return kind;
  std::vector<std::string> others;
  for (const auto& other : kKinds) {
    if (other.takes_keys) others.emplace_back(other.name);
  }
  throw Error(ErrorKind::config, {path, 0, "dataset_keys"},
              fmt::format("not used by {} files (expected a file of kind {})", kind.name,
                          join(others, ", ")));
}

// The HDF5 signature is at the start of the file or after a user block of 512, 1024, ... bytes.
bool has_hdf5_signature(std::ifstream& file, int64_t size) {
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  for (int64_t at = 0; at + 8 <= size; at = at == 0 ? 512 : 2 * at) {
    std::string bytes(8, '\0');
    file.clear();
    file.seekg(at);
    file.read(bytes.data(), 8);
    if (bytes == kSignature) return true;
  }
  return false;
}

std::string detect_hdf5_kind(const std::string& path) {
  const auto look = [&](SandboxOutput& output) {
    Hdf5File file(path);
    forbid_opening_files();
    const auto names = file.names("");
    const auto has = [&](const char* name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (has("num_episodes") || has("episode_terminals")) return output.text("d3rlpy");
    if (has("episode_0")) return output.text("minari");
    const bool flat = has("observations") || has("actions") || has("rewards");
    output.text(!flat && has("data") && file.is_group("data") ? "robomimic" : "d4rl");
  };
  return run_in_sandbox(path, SandboxLimits::for_file(path), look).text;
}

Json to_json(const DatasetFileSummary& summary) {
  Json warnings = Json::array();
  for (const auto& warning : summary.warnings) {
    warnings.push_back({warning.code, warning.message, warning.row.value_or(-1)});
  }
  return {{"counts",
           {summary.rows, summary.episodes, summary.obs_dim, summary.action_dim, summary.terminals,
            summary.timeouts, summary.dropped_rows}},
          {"sums", {json_number(summary.reward_sum), json_number(summary.return_mean)}},
          {"has", {summary.has_timeouts, summary.has_next_observations, summary.has_next_actions}},
          {"warnings", warnings}};
}

DatasetFileSummary summary_from(const Json& json) {
  const auto number = [](const Json& value) { return value.is_null() ? NAN : value.get<double>(); };
  const auto& counts = json.at("counts");
  const auto& has = json.at("has");
  DatasetFileSummary summary;
  int64_t* const targets[] = {&summary.rows,        &summary.episodes,  &summary.obs_dim,
                              &summary.action_dim,  &summary.terminals, &summary.timeouts,
                              &summary.dropped_rows};
  for (size_t i = 0; i < std::size(targets); ++i) *targets[i] = counts.at(i).get<int64_t>();
  summary.reward_sum = number(json.at("sums").at(0));
  summary.return_mean = number(json.at("sums").at(1));
  summary.has_timeouts = has.at(0).get<bool>();
  summary.has_next_observations = has.at(1).get<bool>();
  summary.has_next_actions = has.at(2).get<bool>();
  for (const auto& warning : json.at("warnings")) {
    const auto row = warning.at(2).get<int64_t>();
    summary.warnings.push_back({warning.at(0).get<std::string>(), warning.at(1).get<std::string>(),
                                row < 0 ? std::nullopt : std::optional(row)});
  }
  return summary;
}

void hand_over(const FileTransitions& made, SandboxOutput& output) {
  const Json facts = {{"columns", DatasetColumns::hand_over(made.dataset, output)},
                      {"summary", to_json(made.summary)}};
  output.text(facts.dump(-1, ' ', false, Json::error_handler_t::replace));
}

FileTransitions take_over(const std::string& file, const SandboxResult& result) {
  const Json facts = facts_of_reader(result.text, file);
  FileTransitions taken;
  taken.summary = summary_from(facts.at("summary"));
  taken.columns = facts.at("columns");
  taken.dataset = DatasetColumns::take_over(taken.columns, result.arrays);
  for (size_t i = 0; i < result.arrays.size(); ++i) {
    taken.places.emplace_back(result.offsets[i], result.arrays[i].size());
  }
  return taken;
}

// The files of a directory that is read as one dataset. Empty if `path` is not such a directory.
std::vector<std::string> files_of(const std::string& kind, const std::string& path) {
  std::error_code code;
  const bool joined = (kind == "npz" || kind == "csv") && std::filesystem::is_directory(path, code);
  return joined ? files_to_join(path) : std::vector<std::string>();
}

Json describe_in_sandbox(const std::string& file, Json (*describe)(const std::string& path)) {
  const auto look = [&](SandboxOutput& output) {
    output.text(describe(file).dump(-1, ' ', false, Json::error_handler_t::replace));
  };
  return facts_of_reader(run_in_sandbox(file, SandboxLimits::for_file(file), look).text, file);
}

// Reads the file without a child process, because its arrays are plain numbers at known positions.
template <class Read>
FileTransitions read_plain_transitions(const std::string& kind, const std::string& path, int output,
                                       const DatasetReadOptions& options, const Read& read) {
  if (output < 0) {
    HeapMemory memory;
    return make_file_transitions(kind, path, options, read(memory), memory);
  }
  {
    SandboxSender memory(output);
    hand_over(make_file_transitions(kind, path, options, read(memory), memory), memory);
    memory.finish();
  }
  return take_over(path, receive_from_sandbox(output));
}

}  // namespace

FileTransitions make_file_transitions(const std::string& kind, const std::string& path,
                                      const DatasetReadOptions& options, LoggedSteps steps,
                                      ArrayMemory& memory) {
  FileTransitions made;
  made.summary = summarize(steps);
  if (options.find_warnings) {
    made.summary.warnings = find_dataset_warnings(steps, kind, options);
  }
  made.dataset = make_transitions(std::move(steps), *options.timeout_policy, memory);
  if (made.dataset.rows() == 0) {
    throw Error(ErrorKind::data, {path, 0, ""},
                "no row has a successor, so there is nothing to learn from");
  }
  made.summary.dropped_rows = made.summary.rows - made.dataset.rows();
  return made;
}

DatasetFileSummary summarize(const LoggedSteps& steps) {
  DatasetFileSummary summary;
  summary.obs_dim = steps.obs_dim;
  summary.action_dim = steps.action_dim;
  summary.has_timeouts = steps.has_timeouts;
  summary.has_next_observations = steps.has_next_observations;
  summary.has_next_actions = steps.has_next_actions();
  summary.warnings = steps.warnings;
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    ++summary.rows;
    summary.reward_sum += steps.rewards[slot];
    if (!steps.is(slot, LoggedSteps::kAnyEnd) && !steps.ends(slot)) continue;
    if (steps.is(slot, LoggedSteps::kTerminal)) ++summary.terminals;
    if (steps.is(slot, LoggedSteps::kTimeout)) ++summary.timeouts;
    if (steps.ends(slot)) ++summary.episodes;
  }
  if (summary.episodes > 0) {
    summary.return_mean = summary.reward_sum / static_cast<double>(summary.episodes);
  }
  return summary;
}

std::vector<std::string> dataset_file_kinds() {
  std::vector<std::string> names;
  names.reserve(kKinds.size());
  for (const auto& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::string detect_dataset_kind(const std::string& path) {
  const ErrorPlace place = {path, 0, ""};
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::is_regular_file(status)) {
    if (!find_minari_dataset(path).empty()) return "minari";
    if (std::filesystem::is_directory(status)) {
      if (const auto foreign = foreign_format(path); !foreign.empty()) {
        throw Error(ErrorKind::data, place, foreign);
      }
      const auto files = files_to_join(path);
      if (!files.empty()) return files[0].ends_with(".npz") ? "npz" : "csv";
      throw Error(ErrorKind::data, place,
                  "neither a Minari dataset (expected data/main_data.hdf5 in it) nor a directory "
                  "of npz or csv files");
    }
    throw Error(ErrorKind::data, place, "no such file, and no such Minari dataset");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::data, place, "cannot open");
  std::string first(4, '\0');
  file.read(first.data(), 4);
  const bool archive = first.starts_with("PK");
  if (const auto foreign = foreign_format(path); !foreign.empty()) {
    throw Error(ErrorKind::data, place, foreign);
  }
  if (archive) return "npz";
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, code));
  if (has_hdf5_signature(file, size)) return detect_hdf5_kind(path);
  // CSV files have no magic number, and damaged files may have lost theirs, so the name decides.
  const auto extension = std::filesystem::path(path).extension().string();
  if (extension == ".csv" || extension == ".tsv" || path.ends_with(".csv.gz")) return "csv";
  if (extension == ".npz") return "npz";
  if (extension == ".hdf5" || extension == ".h5") return "d4rl";
  if (is_gzip(first)) {
    throw Error(ErrorKind::data, place,
                "a gzip file (expected one named .csv.gz; unpack others with gunzip first)");
  }
  throw Error(ErrorKind::data, place,
              "unknown kind of dataset (expected HDF5, npz, csv or a Minari "
              "directory)");
}

TimeoutPolicy timeout_policy_for(const std::string& kind, const DatasetReadOptions& options) {
  return options.timeout_policy.value_or(find_kind(kind).policy);
}

std::string dataset_data_file(const std::string& kind, const std::string& path) {
  return kind == "minari" ? minari_data_file(path) : path;
}

LoggedSteps read_logged_steps(const std::string& kind, const std::string& path,
                              const DatasetReadOptions& options) {
  const auto& reader = kind_for(kind, path, options);
  const auto parts = files_of(reader.name, path);
  if (!parts.empty()) {
    std::vector<LoggedSteps> steps;
    steps.reserve(parts.size());
    for (const auto& part : parts) steps.push_back(read_logged_steps(reader.name, part, options));
    return join_steps(steps);
  }
  const auto file = dataset_data_file(reader.name, path);
  return read_steps_in_sandbox(
      file, [&](SandboxOutput& output) { return reader.read(file, options, output); });
}

FileTransitions read_transitions(const std::string& kind, const std::string& path,
                                 const DatasetReadOptions& options, int output) {
  const auto& reader = kind_for(kind, path, options);
  const auto file = dataset_data_file(reader.name, path);
  DatasetReadOptions decided = options;
  decided.timeout_policy = timeout_policy_for(reader.name, options);
  if (!files_of(reader.name, path).empty()) {
    HeapMemory memory;
    return make_file_transitions(reader.name, path, decided,
                                 read_logged_steps(reader.name, path, decided), memory);
  }
  if (reader.describe_plain && options.keys.empty()) {
    const auto description = describe_in_sandbox(file, reader.describe_plain);
    if (!description.is_null()) {
      return read_plain_transitions(reader.name, path, output, decided, [&](ArrayMemory& memory) {
        return reader.read_plain(file, description, decided, memory);
      });
    }
  }
  const auto work = [&](SandboxOutput& memory) {
    auto steps = reader.read(file, decided, memory);
    hand_over(make_file_transitions(reader.name, path, decided, std::move(steps), memory), memory);
  };
  return take_over(file, run_in_sandbox(file, SandboxLimits::for_file(file), work, output));
}

TransitionDataset load_dataset_file(const std::string& kind, const std::string& path,
                                    const DatasetReadOptions& options,
                                    DatasetFileSummary* summary) {
  auto found = read_transitions(kind, path, options, -1);
  if (summary) *summary = std::move(found.summary);
  return std::move(found.dataset);
}

}  // namespace rl_training
