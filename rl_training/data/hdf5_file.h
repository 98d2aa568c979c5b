#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/data/array_source.h"
#include "rl_training/data/plain_file.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {

// Limits for files of unknown origin.
constexpr int64_t kMaxHdf5Bytes = int64_t{8} << 30;  // memory of all arrays read from one file
constexpr int64_t kMaxHdf5Ratio = 1100;              // compression ratio; deflate reaches 1032
// Arrays above this size must have a smaller compression ratio, because real data compresses far
// less than zeros do.
constexpr int64_t kLargeHdf5Array = int64_t{64} << 20;
constexpr int64_t kMaxLargeHdf5Ratio = 200;

// An HDF5 file that is open for reading. Keys are paths such as "episode_0/rewards". Follows only
// hard links. Rejects soft links, external links, external storage and virtual storage. Accepts
// only the filters deflate, shuffle and fletcher32, and never loads plug-ins. Checks sizes before
// it allocates memory. Throws Error{data} with file and path if the file cannot be read.
//
// Use this class only in a sandbox, because damaged files can crash libhdf5 1.10.
class Hdf5File final : public ArraySource {
 public:
  explicit Hdf5File(const std::string& path);
  ~Hdf5File() override;
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  bool has(const std::string& key) override;
  bool is_group(const std::string& key);
  // Sorted names of the objects in a group; "" is the root group.
  std::vector<std::string> names(const std::string& group);
  std::vector<std::string> names() override { return names(""); }

  std::vector<int64_t> shape(const std::string& key) override;
  bool is_integer(const std::string& key) override;
  // Each call reads the data again.
  std::vector<float> read_floats(const std::string& key) override;
  std::vector<double> read_doubles(const std::string& key) override;
  void read_into(const std::string& key, std::span<float> out,
                 const BlockUser<float>& look) override;
  void read_blocks(const std::string& key, const BlockUser<float>& use) override;
  void read_blocks(const std::string& key, const BlockUser<double>& use) override;
  // Returns the position of the values if the file stores them contiguously and as one of the types
  // of PlainArray::Item, in the same format as in memory. Otherwise returns nothing.
  std::optional<PlainArray> plain_array(const std::string& key);
  // Reads a string dataset with one element.
  std::string read_text(const std::string& key);
  // The next two functions read an attribute of the root group. They return nothing if the
  // attribute does not exist or has another type.
  std::optional<std::string> text_attribute(const std::string& name);
  std::optional<int64_t> integer_attribute(const std::string& name);

  ErrorPlace place(const std::string& key) const override { return {file_, 0, key}; }

 private:
  using Id = int64_t;  // the same as hid_t, whose header is not included here
  struct Array;

  [[noreturn]] void fail(const std::string& key, const std::string& message) const;
  // Throws for soft and external links. Returns false if the path does not exist.
  bool check_links(const std::string& key);
  Id open_array(const std::string& key, bool numeric, std::vector<int64_t>& shape);
  Array open_for_reading(const std::string& key, int64_t element_bytes);
  template <class T>
  void read_rows(const std::string& key, Array& array, int64_t first, int64_t rows, T* out);
  template <class T>
  std::vector<T> read_all(const std::string& key);
  template <class T>
  void read_all_blocks(const std::string& key, const BlockUser<T>& use);

  std::string file_;
  Id id_ = -1;
  int64_t file_size_ = 0, bytes_read_ = 0;
  std::unique_ptr<ThreadPool> pool_;  // started when chunks are first unpacked
};

}  // namespace rl_training
