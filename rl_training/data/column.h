#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rl_training {

// A read-only array that shares its storage: a vector it took over, or memory that `owner` keeps
// alive (a mapped file, say). Copies are cheap and see the same elements.
template <class T>
class Column {
 public:
  Column() = default;
  explicit Column(std::vector<T> values) {
    auto owned = std::make_shared<const std::vector<T>>(std::move(values));
    data_ = owned->data();
    size_ = static_cast<int64_t>(owned->size());
    owner_ = std::move(owned);
  }
  Column(std::shared_ptr<const void> owner, const T* data, int64_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  const T& operator[](int64_t i) const { return data_[i]; }
  std::span<const T> span() const { return {data_, static_cast<size_t>(size_)}; }

 private:
  std::shared_ptr<const void> owner_;
  const T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace rl_training
