#include "rl_training/data/mapped_arrays.h"

#include <utility>

#include "rl_training/data/npy_header.h"
#include "rl_training/util/text.h"

namespace rl_training {

void MappedArrays::add(const std::string& key, Derived array) {
  derived_.insert_or_assign(key, std::move(array));
}

void MappedArrays::add_side_by_side(const std::string& key, const std::vector<std::string>& names) {
  int64_t rows = -1, width = 0;
  std::vector<int64_t> widths;
  for (const auto& name : names) {
    if (!file_.has(name)) throw_no_such_array(file_, name);
    const auto shape = file_.shape(name);
    if (shape.empty() || shape.size() > 2 || (rows >= 0 && shape[0] != rows)) {
      throw Error(ErrorKind::data, file_.place(name),
                  "wrong shape (expected (" + (rows < 0 ? "rows" : std::to_string(rows)) +
                      ", dims), got " + shape_text(shape) + ")");
    }
    rows = shape[0];
    widths.push_back(shape.size() == 2 ? shape[1] : 1);
    width += widths.back();
  }
  add(key, {join(names, ","), {rows, width}, [this, names, widths, rows, width] {
              std::vector<double> all(static_cast<size_t>(rows * width));
              int64_t first = 0;
              for (size_t part = 0; part < names.size(); ++part) {
                const auto values = file_.read_doubles(names[part]);
                for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
                  const int64_t row = i / widths[part], column = first + i % widths[part];
                  all[static_cast<size_t>(row * width + column)] = values[static_cast<size_t>(i)];
                }
                first += widths[part];
              }
              return all;
            }});
}

bool MappedArrays::has(const std::string& key) { return derived_.count(key) > 0 || file_.has(key); }

std::vector<int64_t> MappedArrays::shape(const std::string& key) {
  const auto found = derived_.find(key);
  return found == derived_.end() ? file_.shape(key) : found->second.shape;
}

bool MappedArrays::is_integer(const std::string& key) {
  return derived_.count(key) == 0 && file_.is_integer(key);
}

std::vector<double> MappedArrays::read_doubles(const std::string& key) {
  const auto found = derived_.find(key);
  return found == derived_.end() ? file_.read_doubles(key) : found->second.compute();
}

std::vector<float> MappedArrays::read_floats(const std::string& key) {
  const auto found = derived_.find(key);
  if (found == derived_.end()) return file_.read_floats(key);
  const auto values = found->second.compute();
  return {values.begin(), values.end()};
}

void MappedArrays::read_blocks(const std::string& key, const BlockUser<float>& use) {
  derived_.count(key) > 0 ? ArraySource::read_blocks(key, use) : file_.read_blocks(key, use);
}

void MappedArrays::read_blocks(const std::string& key, const BlockUser<double>& use) {
  derived_.count(key) > 0 ? ArraySource::read_blocks(key, use) : file_.read_blocks(key, use);
}

void MappedArrays::read_into(const std::string& key, std::span<float> out,
                             const BlockUser<float>& look) {
  derived_.count(key) > 0 ? ArraySource::read_into(key, out, look)
                          : file_.read_into(key, out, look);
}

std::optional<Column<float>> MappedArrays::lend(const std::string& key) {
  return derived_.count(key) > 0 ? std::nullopt : file_.lend(key);
}

ErrorPlace MappedArrays::place(const std::string& key) const {
  const auto found = derived_.find(key);
  return file_.place(found == derived_.end() ? key : found->second.shown);
}

}  // namespace rl_training
