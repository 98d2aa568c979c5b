#include "rl_training/experiment/state_archive.h"

#include <cstring>
#include <string_view>
#include <unordered_map>

#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

size_t count_bytes(DType dtype, std::span<const int64_t> shape) {
  int64_t bytes = dtype_size(dtype);
  for (const int64_t size : shape) bytes *= size;
  return static_cast<size_t>(bytes);
}

class StateSaver final : public StateVisitor {
 public:
  std::vector<ArchiveEntry> entries;

 protected:
  void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                void* data) override {
    entries.push_back({name, dtype, {shape.begin(), shape.end()}, {}});
    const size_t bytes = count_bytes(dtype, shape);
    if (bytes > 0) entries.back().bytes.assign(static_cast<const char*>(data), bytes);
  }
  void on_text(const std::string& name, std::string& value) override {
    entries.push_back({name, DType::u8, {static_cast<int64_t>(value.size())}, value});
  }
};

class StateLoader final : public StateVisitor {
 public:
  StateLoader(const std::vector<ArchiveEntry>& entries, const std::string& file)
      : entries_(entries), file_(file), visited_(entries.size(), false) {
    for (size_t i = 0; i < entries.size(); ++i) index_.emplace(entries[i].name, i);
  }

  void check_all_visited() const {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (!visited_[i]) fail(entries_[i].name, "is stored but not part of this run's state");
    }
  }

 protected:
  void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                void* data) override {
    const ArchiveEntry& entry = find(name);
    const std::vector<int64_t> expected(shape.begin(), shape.end());
    if (entry.dtype != dtype || entry.shape != expected) {
      fail(name, "wrong array (expected " + describe_array(dtype, expected) + ", got " +
                     describe_array(entry.dtype, entry.shape) + ")");
    }
    if (!entry.bytes.empty()) std::memcpy(data, entry.bytes.data(), entry.bytes.size());
  }
  void on_text(const std::string& name, std::string& value) override {
    const ArchiveEntry& entry = find(name);
    if (entry.dtype != DType::u8 || entry.shape.size() != 1) {
      fail(name,
           "wrong array (expected a text, got " + describe_array(entry.dtype, entry.shape) + ")");
    }
    value = entry.bytes;
  }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw Error(ErrorKind::checkpoint, {file_, 0, name}, what);
  }
  const ArchiveEntry& find(const std::string& name) {
    const auto found = index_.find(name);
    if (found == index_.end()) fail(name, "is missing");
    visited_[found->second] = true;
    return entries_[found->second];
  }

  const std::vector<ArchiveEntry>& entries_;
  const std::string& file_;
  std::vector<bool> visited_;
  std::unordered_map<std::string_view, size_t> index_;
};

class StateHasher final : public StateVisitor {
 public:
  Sha256 hash;

 protected:
  void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                void* data) override {
    // The zero bytes mark the ends of the name and the description. The description determines the
    // length of the data, so different entries never produce the same bytes.
    hash.add(name + '\0' + describe_array(dtype, {shape.begin(), shape.end()}) + '\0');
    hash.add(data, count_bytes(dtype, shape));
  }
  void on_text(const std::string& name, std::string& value) override {
    const int64_t size = static_cast<int64_t>(value.size());
    on_array(name, DType::u8, {&size, 1}, value.data());
  }
};

}  // namespace

std::vector<ArchiveEntry> save_state(const VisitState& visit) {
  StateSaver saver;
  visit(saver);
  return std::move(saver.entries);
}

void load_state(const std::vector<ArchiveEntry>& entries, const std::string& file,
                const VisitState& visit, bool allow_unvisited) {
  StateLoader loader(entries, file);
  try {
    visit(loader);
  } catch (const Error& error) {  // add the file to an error that a part has thrown
    if (!error.place().file.empty()) throw;
    throw Error(error.kind(), {file, 0, error.place().key}, error.message());
  }
  if (!allow_unvisited) loader.check_all_visited();
}

std::string hash_state(const VisitState& visit) {
  StateHasher hasher;
  visit(hasher);
  return hasher.hash.hex();
}

}  // namespace rl_training
