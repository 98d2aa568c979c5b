#include "rl_training/experiment/replay_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

// At this number of files, all rows are merged into one file.
constexpr size_t kMaxSegments = 500;
constexpr std::string_view kPrefix = "replay-", kOtherPrefix = "replay", kSuffix = ".rows";

// Reads the index of the first row from the name of the file.
int64_t first_row(const std::string& name, const std::string& prefix) {
  int64_t first = -1;
  if (name.starts_with(prefix) && name.ends_with(kSuffix)) {
    std::from_chars(name.data() + prefix.size(), name.data() + name.size() - kSuffix.size(), first);
  }
  return first;
}

}  // namespace

ReplayFiles::ReplayFiles(ReplayBuffer& buffer, FileSystem& files, int process)
    : buffer_(buffer),
      files_(files),
      prefix_(process == 0 ? std::string(kPrefix) : fmt::format("{}{}-", kOtherPrefix, process)) {}

int ReplayFiles::process_of(const std::string& name) {
  int process = 0;
  if (name.starts_with(kOtherPrefix)) {
    std::from_chars(name.data() + kOtherPrefix.size(), name.data() + name.size(), process);
  }
  return std::max(0, process);
}

void ReplayFiles::load(const Checkpoint& checkpoint) {
  for (const auto& file : checkpoint.files) {
    const int64_t first = first_row(file.name, prefix_);
    if (first < 0) {
      throw Error(ErrorKind::checkpoint, {file.existing, 0, ""}, "not a file of replay rows");
    }
    try {
      buffer_.restore(first, file.bytes());
    } catch (const Error& error) {
      throw Error(ErrorKind::checkpoint, {file.existing, 0, ""}, error.message());
    }
    segments_.push_back({first, buffer_.total() - first, file});
  }
  if (!buffer_.complete()) {
    throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, ""},
                "replay rows are missing: those before " + segments_.front().file.name);
  }
}

std::vector<CheckpointFile> ReplayFiles::checkpoint_files() {
  pending_ = segments_;
  std::erase_if(pending_, [&](const Segment& s) { return s.first + s.rows <= buffer_.first(); });
  const bool gone = std::any_of(pending_.begin(), pending_.end(), [this](const Segment& s) {
    return !files_.exists(s.file.existing);
  });
  // If an earlier file is gone or there are too many files, write all rows again from memory.
  if (gone || pending_.size() >= kMaxSegments) pending_.clear();
  const int64_t saved =
      pending_.empty() ? buffer_.first() : pending_.back().first + pending_.back().rows;
  if (saved < buffer_.total()) {
    const auto bytes =
        std::make_shared<const std::string>(buffer_.encode(saved, buffer_.total() - saved));
    CheckpointFile file{fmt::format("{}{:012}{}", prefix_, saved, kSuffix), bytes->size(),
                        sha256_hex(*bytes), "", [bytes] { return *bytes; }};
    pending_.push_back({saved, buffer_.total() - saved, std::move(file)});
  }
  std::vector<CheckpointFile> files;
  for (const auto& segment : pending_) files.push_back(segment.file);
  return files;
}

void ReplayFiles::saved_in(const std::string& directory) {
  segments_ = std::move(pending_);
  pending_.clear();
  for (auto& segment : segments_) {
    segment.file.existing = directory + "/" + segment.file.name;
    segment.file.bytes = [files = &files_, path = segment.file.existing] {
      return files->read_file(path);
    };
  }
}

}  // namespace rl_training
