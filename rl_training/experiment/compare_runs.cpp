#include "rl_training/experiment/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

template <class Number>
std::string how_far(const std::string& first, const std::string& second) {
  int64_t count = 0;
  double largest = 0;
  for (size_t at = 0; at < first.size(); at += sizeof(Number)) {
    Number a{}, b{};
    std::memcpy(&a, first.data() + at, sizeof a);
    std::memcpy(&b, second.data() + at, sizeof b);
    if (first.compare(at, sizeof a, second, at, sizeof b) == 0) continue;
    ++count;
    largest = std::max(largest, std::abs(static_cast<double>(a) - static_cast<double>(b)));
  }
  return fmt::format("{} of {} values differ, by up to {:.3g}", count,
                     first.size() / sizeof(Number), largest);
}

// Describes how the arrays differ; "" if they are equal.
std::string difference(const ArchiveEntry& a, const ArchiveEntry& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) {
    return fmt::format("{} against {}", describe_array(a.dtype, a.shape),
                       describe_array(b.dtype, b.shape));
  }
  if (a.bytes == b.bytes) return "";
  switch (a.dtype) {
    case DType::f32:
      return how_far<float>(a.bytes, b.bytes);
    case DType::f64:
      return how_far<double>(a.bytes, b.bytes);
    case DType::i64:
      return how_far<int64_t>(a.bytes, b.bytes);
    case DType::u64:
      return how_far<uint64_t>(a.bytes, b.bytes);
    case DType::u8:
      break;
  }
  return how_far<uint8_t>(a.bytes, b.bytes);
}

class Comparer {
 public:
  RunComparison result;

  void checkpoints(const std::string& place, const Checkpoint& a, const Checkpoint& b) {
    if (a.step != b.step) differ(place, fmt::format("step {} against {}", a.step, b.step));
    std::map<std::string, const ArchiveEntry*> others;
    for (const auto& entry : b.entries) others[entry.name] = &entry;
    for (const auto& entry : a.entries) {
      ++result.arrays;
      result.values += static_cast<int64_t>(entry.bytes.size()) / dtype_size(entry.dtype);
      const auto found = others.find(entry.name);
      const auto what = found == others.end() ? "is missing" : difference(entry, *found->second);
      if (!what.empty()) differ(place + ": " + entry.name, what);
      if (found != others.end()) others.erase(found);
    }
    for (const auto& [name, entry] : others) differ(place + ": " + name, "exists in one only");
    files(place, a.files, b.files);
  }

  void lines(const std::string& name, const std::string& a, const std::string& b) {
    const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    if (name == "metrics.jsonl") result.rows = std::count(a.begin(), a.end(), '\n');
    if (at == a.end() && other == b.end()) return;
    differ(name, fmt::format("line {} differs", 1 + std::count(a.begin(), at, '\n')));
  }

  void differ(const std::string& place, const std::string& what) {
    result.differences.push_back(place + ": " + what);
  }

 private:
  void files(const std::string& place, const std::vector<CheckpointFile>& a,
             const std::vector<CheckpointFile>& b) {
    const auto same = [](const CheckpointFile& x, const CheckpointFile& y) {
      return x.name == y.name && x.size == y.size && x.sha256 == y.sha256;
    };
    if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), same)) {
      differ(place, "the files of replay rows differ");
    }
  }
};

Checkpoint newest_of(const std::string& run) {
  auto found = CheckpointStore(posix_file_system(), run + "/checkpoints")
                   .load_newest([](const std::string&) {});
  if (!found) throw Error(ErrorKind::checkpoint, {run, 0, ""}, "has no checkpoint");
  return std::move(*found);
}

}  // namespace

RunComparison compare_runs(const std::string& first, const std::string& second) {
  auto& files = posix_file_system();
  Comparer comparer;
  const auto newest = newest_of(first);
  comparer.result.step = newest.step;
  comparer.checkpoints("newest checkpoint", newest, newest_of(second));
  const std::string best = "/checkpoints/best";
  if (files.exists(first + best) != files.exists(second + best)) {
    comparer.differ("best checkpoint", "exists in one only");
  } else if (files.exists(first + best)) {
    comparer.checkpoints("best checkpoint", load_checkpoint(files, first + best),
                         load_checkpoint(files, second + best));
  }
  for (const char* name : {"metrics.jsonl", "metrics.csv"}) {
    comparer.lines(name, files.read_file(first + "/" + name), files.read_file(second + "/" + name));
  }
  return std::move(comparer.result);
}

}  // namespace rl_training
