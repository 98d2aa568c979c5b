#include "rl_training/data/memory_arrays.h"

#include <algorithm>
#include <utility>

#include "rl_training/data/npz.h"

namespace rl_training {
namespace {

constexpr char kKindOfArrays[] = "npz";  // arrays in memory are treated like those of npz files

DatasetReadOptions with_policy(DatasetReadOptions options) {
  options.timeout_policy = timeout_policy_for(kKindOfArrays, options);
  return options;
}

}  // namespace

// Presents the arrays like those of a file. Does not copy an array if it already has the requested
// type: read_blocks passes a view of the array, and lend() returns float32 arrays.
class MemoryArrays::Source final : public ArraySource {
 public:
  explicit Source(const std::map<std::string, Array>& arrays) : arrays_(arrays) {}

  bool has(const std::string& key) override { return arrays_.count(key) > 0; }
  std::vector<std::string> names() override {
    std::vector<std::string> all;
    for (const auto& [name, array] : arrays_) all.push_back(name);
    return all;
  }
  std::vector<int64_t> shape(const std::string& key) override { return arrays_.at(key).shape; }
  bool is_integer(const std::string& key) override {
    const auto& values = arrays_.at(key).values;
    return !std::holds_alternative<Column<float>>(values) &&
           !std::holds_alternative<Column<double>>(values);
  }
  std::vector<float> read_floats(const std::string& key) override { return converted<float>(key); }
  std::vector<double> read_doubles(const std::string& key) override {
    return converted<double>(key);
  }
  void read_blocks(const std::string& key, const BlockUser<float>& use) override {
    use_whole<float>(key, use);
  }
  void read_blocks(const std::string& key, const BlockUser<double>& use) override {
    use_whole<double>(key, use);
  }
  void read_into(const std::string& key, std::span<float> out,
                 const BlockUser<float>& look) override {
    std::visit(
        [&](const auto& column) {
          std::transform(column.span().begin(), column.span().end(), out.begin(),
                         [](auto value) { return static_cast<float>(value); });
        },
        arrays_.at(key).values);
    look(0, out);
  }
  std::optional<Column<float>> lend(const std::string& key) override {
    const auto* floats = std::get_if<Column<float>>(&arrays_.at(key).values);
    return floats != nullptr ? std::optional(*floats) : std::nullopt;
  }
  ErrorPlace place(const std::string& key) const override { return {kFile, 0, key}; }

 private:
  template <class T>
  std::vector<T> converted(const std::string& key) const {
    return std::visit(
        [](const auto& column) {
          std::vector<T> values(static_cast<size_t>(column.size()));
          std::transform(column.span().begin(), column.span().end(), values.begin(),
                         [](auto value) { return static_cast<T>(value); });
          return values;
        },
        arrays_.at(key).values);
  }
  template <class T>
  void use_whole(const std::string& key, const BlockUser<T>& use) const {
    const auto* same = std::get_if<Column<T>>(&arrays_.at(key).values);
    same != nullptr ? use(0, same->span()) : use(0, converted<T>(key));
  }

  const std::map<std::string, Array>& arrays_;
};

void MemoryArrays::add(const std::string& key, std::vector<int64_t> shape, Values values) {
  arrays_.insert_or_assign(key, Array{std::move(shape), std::move(values)});
}

LoggedSteps MemoryArrays::read(const DatasetReadOptions& options, ArrayMemory& memory) const {
  Source source(arrays_);
  return read_named_arrays(source, kFile, options, memory);
}

LoggedSteps MemoryArrays::steps(const DatasetReadOptions& options) const {
  HeapMemory memory;
  return read(options, memory);
}

FileTransitions MemoryArrays::transitions(const DatasetReadOptions& options) const {
  HeapMemory memory;
  const auto decided = with_policy(options);
  return make_file_transitions(kKindOfArrays, kFile, decided, read(decided, memory), memory);
}

}  // namespace rl_training
