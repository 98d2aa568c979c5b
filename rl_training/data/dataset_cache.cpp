#include "rl_training/data/dataset_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "rl_training/data/dataset_columns.h"
#include "rl_training/data/descriptor.h"
#include "rl_training/data/file_identity.h"
#include "rl_training/data/sandbox_channel.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeader = ".json";
constexpr const char* kData = ".data";
constexpr const char* kLock = ".lock";
constexpr const char* kTemporary = ".tmp-";
constexpr size_t kDigestDigits = 64;

// Hash of everything that determines the dataset except the content of the files.
std::string entry_name(const Json& sources, const std::string& kind,
                       const DatasetReadOptions& read) {
  Json key = {{"layout", DatasetColumns::kLayout},
              {"path", sources.at(0).at("path")},
              {"kind", kind},
              {"policy", read.timeout_policy ? static_cast<int>(*read.timeout_policy) : -1},
              {"episode_length", read.episode_length},
              {"allow_nonfinite", read.allow_nonfinite},
              {"keys", read.keys}};
  if (read.bounds) key["bounds"] = {read.bounds->low, read.bounds->high};
  if (read.bounds && read.bounds->is_discrete()) key["choices"] = read.bounds->categories;
  return sha256_hex(key.dump(-1, ' ', false, Json::error_handler_t::replace)).substr(0, 32);
}

// Returns the header without its digest, or null if the header is missing or damaged.
Json read_header(const std::string& path) {
  auto& files = posix_file_system();
  if (!files.exists(path)) return {};
  const auto text = files.read_file(path);
  if (text.size() < kDigestDigits + 1) return {};
  const auto body = text.substr(0, text.size() - kDigestDigits - 1);
  if (text.substr(body.size() + 1) != sha256_hex(body)) return {};
  return parse_untrusted_json(body);
}

void write_header(const std::string& path, const Json& body) {
  const auto text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  write_file_atomically(posix_file_system(), path, text + "\n" + sha256_hex(text));
}

int open_file(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) throw Error(ErrorKind::io, {path, 0, ""}, std::strerror(errno));
  return fd;
}

TransitionDataset map_columns(const std::string& path, const Json& header) {
  const Descriptor file(open_file(path, O_RDONLY));
  const auto size = header.at("data").at("size").get<int64_t>();
  const auto all = map_file(file.get(), size);
  std::vector<Column<unsigned char>> arrays;
  for (const auto& array : header.at("arrays")) {
    const auto offset = array.at(0).get<int64_t>(), bytes = array.at(1).get<int64_t>();
    if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset) {
      throw Error(ErrorKind::data, "an array extends beyond the file");
    }
    arrays.push_back(all.part(offset, bytes));
  }
  return DatasetColumns::take_over(header.at("columns"), arrays);
}

Json write_warnings(const std::vector<DatasetWarning>& warnings) {
  Json list = Json::array();
  for (const auto& warning : warnings) {
    list.push_back({warning.code, warning.message, warning.row.value_or(-1)});
  }
  return list;
}

std::vector<DatasetWarning> read_warnings(const Json& list) {
  std::vector<DatasetWarning> warnings;
  for (const auto& entry : list) {
    const auto row = entry.at(2).get<int64_t>();
    warnings.push_back({entry.at(0).get<std::string>(), entry.at(1).get<std::string>(),
                        row < 0 ? std::nullopt : std::optional(row)});
  }
  return warnings;
}

// A lock held by the process that creates an entry. The destructor removes the lock file; a process
// that waited for the lock then finds the finished entry. On file systems without locks, two
// processes may create the same entry.
class EntryLock {
 public:
  explicit EntryLock(std::string path) : path_(std::move(path)) {
    std::error_code ignored;
    fs::create_directories(fs::path(path_).parent_path(), ignored);
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file_ >= 0) static_cast<void>(::flock(file_, LOCK_EX));
  }
  ~EntryLock() {
    if (file_ < 0) return;
    ::unlink(path_.c_str());
    ::close(file_);
  }
  EntryLock(const EntryLock&) = delete;
  EntryLock& operator=(const EntryLock&) = delete;

 private:
  std::string path_;
  int file_ = -1;
};

// Removes temporary files of processes that no longer exist.
void remove_leftovers(const std::string& directory) {
  auto& files = posix_file_system();
  for (const auto& name : files.list_directory(directory)) {
    const auto at = name.find(kTemporary);
    if (at == std::string::npos) continue;
    const int process = std::atoi(name.c_str() + at + std::strlen(kTemporary));
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) {
      files.remove_all(directory + "/" + name);
    }
  }
}

}  // namespace

std::string DatasetCache::default_directory() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (auto own = variable("RL_TRAINING_CACHE"); !own.empty()) return own;
  if (const auto xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/rl_training";
  const auto home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/rl_training";
}

TransitionDataset DatasetCache::load(const std::string& kind, const std::string& path,
                                     const DatasetReadOptions& read,
                                     std::vector<DatasetWarning>* warnings) {
  auto how = read;
  how.find_warnings = warnings != nullptr;
  const auto sources = options_.directory.empty() ? Json() : dataset_sources(kind, path);
  const bool cached =
      sources.is_array() && sources.at(0).at("size").get<int64_t>() >= options_.minimum_bytes;
  if (cached) {
    const auto name = entry_name(sources, kind, how);
    const bool can_be_made = are_settled(sources, options_.settle_milliseconds);
    if (auto dataset = open_entry(name, sources, warnings, /*again=*/can_be_made)) {
      DatasetColumns::expect_random_access(*dataset);
      return *std::move(dataset);
    }
    if (can_be_made) {
      const EntryLock held(file(name + kLock));
      if (auto dataset = open_entry(name, sources, warnings)) {  // built by another process
        DatasetColumns::expect_random_access(*dataset);
        return *std::move(dataset);
      }
      if (auto made = make_entry(name, sources, kind, path, how)) {
        DatasetColumns::expect_random_access(made->dataset);
        if (warnings != nullptr) *warnings = std::move(made->summary.warnings);
        return std::move(made->dataset);
      }
    }
  }
  DatasetFileSummary summary;
  auto dataset = load_dataset_file(kind, path, how, &summary);
  if (warnings != nullptr) *warnings = std::move(summary.warnings);
  return dataset;
}

TransitionDataset DatasetCache::made(const Json& what,
                                     const std::function<TransitionDataset()>& make) {
  const auto program = options_.directory.empty() ? "" : library_file();
  const Json sources = Json::array({program.empty() ? Json() : file_identity(program)});
  if (sources.at(0).is_null()) return make();
  const Json key = {{"layout", DatasetColumns::kLayout}, {"program", program}, {"made", what}};
  const auto name = sha256_hex(key.dump()).substr(0, 32);
  if (auto dataset = open_entry(name, sources, nullptr, /*again=*/true)) {
    return *std::move(dataset);
  }
  const EntryLock held(file(name + kLock));
  if (auto dataset = open_entry(name, sources, nullptr)) return *std::move(dataset);
  auto dataset = make();
  if (auto kept = keep(name, sources, what, dataset)) dataset = *std::move(kept);
  return dataset;
}

// Returns the dataset mapped from its new file. Returns nothing if the dataset is too small to be
// cached or the file cannot be written.
std::optional<TransitionDataset> DatasetCache::keep(const std::string& name, const Json& sources,
                                                    const Json& what,
                                                    const TransitionDataset& dataset) {
  const int64_t row_bytes = dataset.obs_space().bytes() + dataset.action_space().bytes();
  if (dataset.rows() * row_bytes < options_.minimum_bytes) return std::nullopt;
  const auto temporary = file(name + kData + kTemporary + std::to_string(::getpid()));
  try {
    remove_leftovers(options_.directory);
    const Descriptor output(open_file(temporary, O_RDWR | O_CREAT | O_TRUNC));
    Json columns;
    {
      SandboxSender sender(output.get());
      columns = DatasetColumns::hand_over(dataset, sender);
      sender.finish();
    }
    const auto written = receive_from_sandbox(output.get());
    Json places = Json::array();
    for (size_t i = 0; i < written.arrays.size(); ++i) {
      places.push_back({written.offsets[i], written.arrays[i].size()});
    }
    commit(name, temporary,
           {{"kind", what.value("kind", "made")},
            {"rows", dataset.rows()},
            {"fingerprint", dataset.fingerprint()},
            {"sources", sources},
            {"columns", columns},
            {"arrays", places},
            {"warnings", Json()}});
    return DatasetColumns::take_over(columns, written.arrays);
  } catch (const Error& error) {
    options_.warn(std::string("no dataset cache: ") + error.what());
    std::error_code ignored;
    fs::remove(temporary, ignored);
    return std::nullopt;
  }
}

std::optional<TransitionDataset> DatasetCache::open_entry(const std::string& name,
                                                          const Json& sources,
                                                          std::vector<DatasetWarning>* warnings,
                                                          bool again) {
  const auto header_path = file(name + kHeader), data_path = file(name + kData);
  try {
    if (!posix_file_system().exists(header_path)) return std::nullopt;
    auto header = read_header(header_path);
    if (!header.is_object()) throw Error(ErrorKind::data, "its header is damaged");
    if (header.at("sources") != sources) return std::nullopt;  // the file has changed
    // The caller requests warnings, but the entry was built without checking for them.
    if (warnings != nullptr && header.value("warnings", Json()).is_null()) return std::nullopt;
    const auto data = file_identity(data_path);
    if (data.is_null() || data.at("size") != header.at("data").at("size")) {
      throw Error(ErrorKind::data, "its data are incomplete");
    }
    auto dataset = map_columns(data_path, header);
    const auto boot = boot_id();
    if (boot.empty() || header.at("boot") != boot || header.at("data") != data) {
      if (!DatasetColumns::is_intact(dataset, header.at("columns"))) {
        throw Error(ErrorKind::data, "its data are damaged");
      }
      header["boot"] = boot;
      header["data"] = data;
      write_header(header_path, header);
    }
    if (warnings != nullptr) *warnings = read_warnings(header.at("warnings"));
    return dataset;
  } catch (const std::exception& error) {
    if (!again) options_.warn("dataset cache " + header_path + " is rebuilt: " + error.what());
    return std::nullopt;
  }
}

std::optional<FileTransitions> DatasetCache::make_entry(const std::string& name,
                                                        const Json& sources,
                                                        const std::string& kind,
                                                        const std::string& path,
                                                        const DatasetReadOptions& read) {
  auto& files = posix_file_system();
  const auto temporary = file(name + kData + kTemporary + std::to_string(::getpid()));
  const auto give_up = [&](const std::string& reason) {
    options_.warn("no dataset cache: " + reason);
    std::error_code ignored;
    fs::remove(temporary, ignored);
    return std::nullopt;
  };
  try {
    files.make_directories(options_.directory);
    remove_leftovers(options_.directory);
    files.remove_all(temporary);
    const Descriptor output(open_file(temporary, O_RDWR | O_CREAT | O_EXCL));
    auto found = read_transitions(kind, path, read, output.get());
    if (dataset_sources(kind, path) != sources) {
      return give_up(path + " changed while it was read");
    }
    commit(name, temporary,
           {{"kind", kind},
            {"rows", found.dataset.rows()},
            {"fingerprint", found.dataset.fingerprint()},
            {"sources", sources},
            {"columns", found.columns},
            {"arrays", found.places},
            {"warnings", read.find_warnings ? write_warnings(found.summary.warnings) : Json()}});
    return found;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) return give_up(error.what());
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

// Renames the data file before it writes the header, so that a header never refers to missing data.
void DatasetCache::commit(const std::string& name, const std::string& temporary, const Json& body) {
  auto& files = posix_file_system();
  files.remove_all(file(name + kHeader));
  files.rename(temporary, file(name + kData));
  Json header = body;
  header["data"] = file_identity(file(name + kData));
  header["boot"] = boot_id();
  write_header(file(name + kHeader), header);
}

std::vector<CachedDataset> DatasetCache::list() const {
  std::vector<CachedDataset> all;
  if (options_.directory.empty()) return all;
  for (const auto& name : posix_file_system().list_directory(options_.directory)) {
    if (!name.ends_with(kHeader)) continue;
    const auto header = read_header(file(name));
    if (!header.is_object() || !header.contains("sources")) continue;
    const auto data = name.substr(0, name.size() - std::strlen(kHeader)) + kData;
    all.push_back({header.at("sources").at(0).at("path").get<std::string>(),
                   header.at("kind").get<std::string>(), header.at("rows").get<int64_t>(),
                   header.at("data").at("size").get<int64_t>(), file(data)});
  }
  return all;
}

int64_t DatasetCache::clear() {
  auto& files = posix_file_system();
  int64_t bytes = 0;
  if (options_.directory.empty()) return bytes;
  for (const auto& name : files.list_directory(options_.directory)) {
    const bool ours =
        name.find(kData) != std::string::npos || name.ends_with(kHeader) || name.ends_with(kLock);
    if (!ours || name.size() < 32) continue;
    bytes += static_cast<int64_t>(files.file_size(file(name)));
    files.remove_all(file(name));
  }
  return bytes;
}

}  // namespace rl_training
