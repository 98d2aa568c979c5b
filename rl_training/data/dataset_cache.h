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
  int64_t minimum_bytes = 1 << 20;    // smaller files are read as fast without a cache
  int64_t settle_milliseconds = 100;  // a file changed more recently is not cached yet
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

struct CachedDataset {
  std::string path;  // of the source file
  std::string kind;
  int64_t rows = 0, bytes = 0;
  std::string data_file;
};

// Caches datasets in files that are mapped into memory instead of being read. An entry belongs to
// one path and one way of reading it. It is used only if
// - each source file still has its size, inode and modification times, and had not been modified
//   just before it was read (times are too coarse to distinguish a second change from the first);
// - its header is intact (it ends with its SHA-256);
// - its data file is the one described in the header (size, inode, modification time) and was
//   written or verified since the machine booted. Otherwise all of it is read once and compared
//   with the hashes in the header, because a crash may have lost data that was not yet on disk.
//   Otherwise the entry is rebuilt, by one process at a time; others wait and share the result.
// If an entry cannot be written, a warning is printed and the dataset is loaded without it.
class DatasetCache {
 public:
  explicit DatasetCache(DatasetCacheOptions options) : options_(std::move(options)) {}

  // $RL_TRAINING_CACHE, or rl_training below $XDG_CACHE_HOME, or ~/.cache/rl_training; "" if none
  // of these is set.
  static std::string default_directory();

  // Like load_dataset_file. If `warnings` is not null, it receives the warnings about the data.
  TransitionDataset load(const std::string& kind, const std::string& path,
                         const DatasetReadOptions& read,
                         std::vector<DatasetWarning>* warnings = nullptr);

  // Caches a dataset that this library generates; `what` lists everything else that it depends on.
  // The binary that contains the generating code takes the place of the source file.
  TransitionDataset made(const Json& what, const std::function<TransitionDataset()>& make);

  std::vector<CachedDataset> list() const;
  // Returns the number of bytes freed.
  int64_t clear();

 private:
  // Warns about an unusable entry, unless the caller will check it `again`.
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
