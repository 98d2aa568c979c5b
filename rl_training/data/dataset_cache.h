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
  std::string directory;              // "" disables the cache
  int64_t minimum_bytes = 1 << 20;    // smaller files are not cached, because reading them is fast
  int64_t settle_milliseconds = 100;  // files modified more recently than this are not cached
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

struct CachedDataset {
  std::string path;  // of the source file
  std::string kind;
  int64_t rows = 0, bytes = 0;
  std::string data_file;
};

// Caches datasets in files that are mapped into memory instead of being read. Each entry belongs to
// one path and one set of read options. An entry is used only if
// - the size, inode and modification times of each source file are unchanged;
// - the header of the entry is intact (it ends with its own SHA-256);
// - the data file matches the header.
// The data file matches if it has the size, inode and times in the header and was written or
// verified since the machine booted. If its size matches but another of these conditions does not
// hold, the cache reads the whole data file once and compares it with the hashes in the header. The
// check is needed because a crash may lose data that was not yet on disk.
//
// An entry that cannot be used is rebuilt by one process. Other processes wait and share the
// result. A source file that was modified just before it was read is not cached: file times are too
// coarse to detect another modification shortly afterwards. If an entry cannot be written, the
// cache reports a warning and loads the dataset from its source.
class DatasetCache {
 public:
  explicit DatasetCache(DatasetCacheOptions options) : options_(std::move(options)) {}

  // Returns the first of $RL_TRAINING_CACHE, $XDG_CACHE_HOME/rl_training and
  // $HOME/.cache/rl_training whose variable is set, or "" if none of the variables is set.
  static std::string default_directory();

  // Returns the same dataset as load_dataset_file, from the cache if possible. If `warnings` is not
  // null, it receives the warnings about the data.
  TransitionDataset load(const std::string& kind, const std::string& path,
                         const DatasetReadOptions& read,
                         std::vector<DatasetWarning>* warnings = nullptr);

  // Returns the dataset that `make` generates, from the cache if possible. An entry is valid while
  // the binary with the code of this library is unchanged. `what` lists everything else that the
  // dataset depends on.
  TransitionDataset made(const Json& what, const std::function<TransitionDataset()>& make);

  std::vector<CachedDataset> list() const;
  // Returns the number of bytes freed.
  int64_t clear();

 private:
  // Returns nothing if the entry cannot be used. Warns if the entry is damaged, unless `again` is
  // true. Callers that will open the entry a second time set `again`, to avoid two warnings.
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
