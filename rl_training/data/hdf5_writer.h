#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rl_training {

// Makes a HDF5 file in memory: compressed arrays under the root, no time stamps, so equal arrays
// make equal files. Like Hdf5File, to be used in a sandbox only.
class Hdf5Writer {
 public:
  Hdf5Writer();
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void add(const std::string& key, std::span<const int64_t> shape, std::span<const float> values);
  // As booleans of h5py.
  void add_flags(const std::string& key, std::span<const uint8_t> values);
  void add_attribute(const std::string& name, int64_t value);

  std::vector<char> bytes();

 private:
  void add_raw(const std::string& key, int64_t type, std::span<const int64_t> shape,
               const void* data);

  int64_t file_ = -1, bool_type_ = -1;  // hid_t, without its header
};

}  // namespace rl_training
