#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/data/dataset_file.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/json.h"

namespace rl_training {

struct DatasetCacheOptions {
  std::string directory;              // "": no cache
  int64_t minimum_bytes = 1 << 20;    // reading smaller files again is as fast
  int64_t settle_milliseconds = 100;  // a file changed later than this ago is not cached yet
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

struct CachedDataset {
  std::string path;  // of the file it was made from
  std::string kind;
  int64_t rows = 0, bytes = 0;
  std::string data_file;
};

// Datasets made from files, kept as files that are mapped rather than read. An entry belongs to one
// path and one way of reading it. It is used only if
// - each file it was made from still has its size, inode and times of change, and had not been
//   changed just before it was read (times are too coarse to tell a second change from the first);
// - its header is whole (it ends with its SHA-256);
// - its data file is the one the header speaks of (size, inode, time of change) and was written or
//   checked since the machine started. Otherwise all of it is read once and compared with the
//   hashes in the header: a crash may have lost what was not yet on the disk.
// Otherwise the entry is rebuilt, by one process at a time; others wait and share the result.
// What cannot be written is a warning; the dataset loads all the same.
class DatasetCache {
 public:
  explicit DatasetCache(DatasetCacheOptions options) : options_(std::move(options)) {}

  // $RL_TRAINING_CACHE, or rl_training below $XDG_CACHE_HOME, or ~/.cache/rl_training; "" without
  // any of them.
  static std::string default_directory();

  // As load_dataset_file. `warnings`, where given, become those of the data doctor.
  TransitionDataset load(const std::string& kind, const std::string& path,
                         const DatasetReadOptions& read,
                         std::vector<DatasetWarning>* warnings = nullptr);

  // A dataset that is made by code of this library, kept in the same way; `what` is all else that
  // it depends on. The file of that code counts as the one it was read from.
  TransitionDataset made(const Json& what, const std::function<TransitionDataset()>& make);

  std::vector<CachedDataset> list() const;
  // The number of bytes given back.
  int64_t clear();

 private:
  // Warns about an unusable entry, unless the caller will look at it `again`.
  std::optional<TransitionDataset> open_entry(const std::string& name, const Json& sources,
                                              std::vector<DatasetWarning>* warnings,
                                              bool again = false);
  std::optional<FileTransitions> make_entry(const std::string& name, const Json& sources,
                                            const std::string& kind, const std::string& path,
                                            const DatasetReadOptions& read);
  std::optional<TransitionDataset> keep(const std::string& name, const Json& sources,
                                        const Json& what, const TransitionDataset& dataset);
  void commit(const std::string& name, const std::string& temporary, const Json& body);
  std::string file(const std::string& name) const { return options_.directory + "/" + name; }

  DatasetCacheOptions options_;
};

}  // namespace rl_training
