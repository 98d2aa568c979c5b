#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rl_training {

// A read-only array with shared storage. The storage is a vector that was moved into the column, or
// memory that `owner` keeps alive, such as a mapped file. Copies are cheap and share the elements.
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
  // The `count` elements that start at `first`. The result shares the storage.
  Column part(int64_t first, int64_t count) const { return {owner_, data_ + first, count}; }
  // The same memory as bytes.
  Column<unsigned char> bytes() const {
    return {owner_, reinterpret_cast<const unsigned char*>(data_),
            size_ * static_cast<int64_t>(sizeof(T))};
  }

 private:
  std::shared_ptr<const void> owner_;
  const T* data_ = nullptr;
  int64_t size_ = 0;
};

// Allocates and fills the memory of large arrays.
class ArrayMemory {
 public:
  virtual ~ArrayMemory() = default;
  // Zero-filled memory, aligned to 64 bytes.
  virtual std::shared_ptr<void> allocate(int64_t bytes) = 0;
  // Copies `data` to `target`, which may be any address. An override may be faster if `target` is
  // file-backed memory from allocate().
  virtual void store(void* target, const void* data, int64_t bytes);
};

// Memory that is private to this process.
class HeapMemory final : public ArrayMemory {
 public:
  std::shared_ptr<void> allocate(int64_t bytes) override;
};

// Writable memory that becomes a column once it is filled.
template <class T>
struct ColumnBuffer {
  std::shared_ptr<void> owner;
  T* data = nullptr;
  int64_t size = 0;

  ColumnBuffer() = default;
  ColumnBuffer(ArrayMemory& memory, int64_t count)
      : owner(memory.allocate(count * static_cast<int64_t>(sizeof(T)))),
        data(static_cast<T*>(owner.get())),
        size(count) {}

  std::span<T> first(int64_t count) const { return {data, static_cast<size_t>(count)}; }
  Column<T> column(int64_t count) const { return {owner, data, count}; }
};

}  // namespace rl_training
