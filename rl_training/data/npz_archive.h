#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rl_training/data/array_source.h"
#include "rl_training/data/npy_header.h"
#include "rl_training/util/error.h"

struct zip;

namespace rl_training {

// Limits for files of unknown origin.
constexpr int64_t kMaxNpzBytes = int64_t{8} << 30;  // memory of all arrays read from one file
constexpr int64_t kMaxDeflateRatio = 1100;          // compression ratio; deflate reaches 1032
// Arrays above this size must have a smaller compression ratio, because real data compresses far
// less than zeros do.
constexpr int64_t kLargeNpzArray = int64_t{64} << 20;
constexpr int64_t kMaxLargeDeflateRatio = 200;

// The arrays of an .npz file. The constructor reads only the directory of the zip archive. Before
// memory for an array is allocated, the shape in its header is compared with the size of its file
// in the archive.
// Throws Error{data} with the file and the key if the data is invalid.
class NpzReader final : public ArraySource {
 public:
  explicit NpzReader(const std::string& path);
  // Reads from memory. Error messages use `name` as the file name. `bytes` must outlive the reader.
  NpzReader(std::span<const char> bytes, const std::string& name);

  std::vector<std::string> keys() const;
  std::vector<std::string> names() override { return keys(); }
  bool has(const std::string& key) override { return members_.count(key) > 0; }
  std::vector<int64_t> shape(const std::string& key) override { return header(key).shape; }
  bool is_integer(const std::string& key) override { return header(key).type < NpyType::f2; }
  const NpyHeader& header(const std::string& key);

  // Each call reads the array from the file again.
  std::vector<float> read_floats(const std::string& key) override;
  std::vector<double> read_doubles(const std::string& key) override;
  void read_into(const std::string& key, std::span<float> out,
                 const BlockUser<float>& look) override;

  ErrorPlace place(const std::string& key) const override { return {file_, 0, key}; }

 private:
  struct Member {
    uint64_t index = 0;
    int64_t size = 0, stored_size = 0;
    int method = 0, encryption = 0;
    std::optional<NpyHeader> header;
  };
  class Stream;
  struct Close {
    void operator()(zip* archive) const;
  };

  void read_directory(int64_t file_size);
  Member& member(const std::string& key);
  // Adds the size of the array to `bytes_read_` and throws if the sum exceeds kMaxNpzBytes. Returns
  // the number of elements.
  template <class T>
  int64_t admit(const std::string& key);
  template <class T>
  std::vector<T> read_as(const std::string& key);
  template <class T>
  void read_admitted(const std::string& key, std::span<T> out);

  std::string file_;
  std::unique_ptr<zip, Close> archive_;
  std::map<std::string, Member> members_;
  int64_t bytes_read_ = 0;
};

}  // namespace rl_training
