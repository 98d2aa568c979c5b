#pragma once
#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rl_training/data/plain_file.h"

// For hdf5_*.cpp only: no other file includes libhdf5's header.
namespace rl_training {

// Closes an HDF5 object with the function that fits its kind.
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

// The innermost reason of the last failure: "inflate() failed".
std::string last_hdf5_reason();

// Why values of this type cannot be read as numbers; "" if they can.
std::string type_problem(hid_t type);

// The corresponding type in memory, if values are stored in the same form.
std::optional<PlainArray::Item> plain_item(hid_t type);

// Why the storage of a dataset is not supported; "" if it is.
std::string storage_problem(hid_t plist);

// Why a dataset of this size is rejected before memory is allocated; "" if it is accepted.
// `file_size` bounds the stored bytes, because chunks of a hostile file may overlap.
std::string size_problem(hid_t dataset, hid_t plist, hid_t type, const std::vector<int64_t>& shape,
                         int64_t file_size);

// The product; nothing if it exceeds 2^62.
std::optional<int64_t> product(const std::vector<int64_t>& shape, int64_t factor);

}  // namespace rl_training
