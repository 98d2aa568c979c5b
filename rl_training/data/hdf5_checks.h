#pragma once
#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rl_training/data/plain_file.h"

// Only hdf5_*.cpp files include this header, so that no other file depends on libhdf5.
namespace rl_training {

// Owns an HDF5 object and closes it with the function for its kind.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }
  bool valid() const { return id_ >= 0; }
  hid_t release() { return std::exchange(id_, -1); }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// The innermost cause of the last libhdf5 error, for example "inflate() failed".
std::string last_hdf5_reason();

// Returns the reason why values of this type cannot be read as numbers, or "" if they can.
std::string type_problem(hid_t type);

// Returns the corresponding item type if the file stores native floats, doubles, int8 or uint8
// (also as the base of an enumeration). Returns nothing for other types.
std::optional<PlainArray::Item> plain_item(hid_t type);

// Returns the reason why the storage of a dataset is not supported, or "" if it is supported.
std::string storage_problem(hid_t plist);

// Returns the reason why a dataset of this size is rejected, or "" if it is accepted. Call this
// before memory is allocated. The compression ratio is computed from the stored size or from
// `file_size`, whichever is smaller: the chunks of a hostile file may overlap, and the sum of their
// sizes may then exceed the file size.
std::string size_problem(hid_t dataset, hid_t plist, hid_t type, const std::vector<int64_t>& shape,
                         int64_t file_size);

// Returns the product of `factor` and all dimensions of `shape`, or nothing if the product is 2^62
// or more.
std::optional<int64_t> product(const std::vector<int64_t>& shape, int64_t factor);

}  // namespace rl_training
