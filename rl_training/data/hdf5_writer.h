#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rl_training {

// compressed: small compressed chunks. extendable: large uncompressed chunks; other programs can
// append rows to the arrays.
enum class Hdf5Storage { compressed, extendable };

// Creates an HDF5 file in memory. The file has no time stamps, so equal arrays produce equal files.
// Keys are paths such as "episode_0/rewards"; groups are created as needed. Use this class only in
// a sandbox, like Hdf5File.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(Hdf5Storage storage = Hdf5Storage::compressed);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void add(const std::string& key, std::span<const int64_t> shape, std::span<const float> values);
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const double> values);
  void add(const std::string& key, std::span<const int64_t> shape, std::span<const int64_t> values);
  // Stores the flags in the same format as h5py's booleans.
  void add_flags(const std::string& key, std::span<const uint8_t> values);
  // Adds an attribute to an existing group; "" is the root group.
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
  int64_t file_ = -1, bool_type_ = -1;  // the same as hid_t, whose header is not included here
};

}  // namespace rl_training
