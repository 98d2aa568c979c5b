#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rl_training {

// Compressed in small chunks, or as one uncompressed chunk to which rows can be appended.
enum class Hdf5Storage { compressed, extendable };

// Creates an HDF5 file in memory, without time stamps, so equal arrays give equal files. Keys are
// paths such as "episode_0/rewards"; groups are created as needed. Like Hdf5File, use it in a
// sandbox only.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(Hdf5Storage storage = Hdf5Storage::compressed);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void add(const std::string& key, std::span<const int64_t> shape, std::span<const float> values);
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const double> values);
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const int64_t> values);
  // Stored as h5py stores booleans.
  void add_flags(const std::string& key, std::span<const uint8_t> values);
  // Attribute of an existing group; "" is the root.
  void add_attribute(const std::string& group, const std::string& name, int64_t value);
  void add_attribute(const std::string& group, const std::string& name, double value);
  void add_attribute(const std::string& group, const std::string& name, const std::string& value);

  std::vector<char> bytes();

 private:
  void add_raw(const std::string& key, int64_t type, std::span<const int64_t> shape,
               const void* data);
  void add_raw_attribute(const std::string& group, const std::string& name, int64_t type,
                         const void* value);

  Hdf5Storage storage_;
  int64_t file_ = -1, bool_type_ = -1;  // hid_t, without including its header
};

}  // namespace rl_training
