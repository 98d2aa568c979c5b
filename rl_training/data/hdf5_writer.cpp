#include "rl_training/data/hdf5_writer.h"

#include <hdf5.h>

#include <algorithm>
#include <array>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr int64_t kChunkBytes = int64_t{256} * 1024;
constexpr int64_t kExtendableChunkBytes = int64_t{16} * 1024 * 1024;
constexpr unsigned kDeflateLevel = 4;

// Throws if a call to libhdf5 failed, that is, returned a negative number.
template <class T>
T must(T result, const std::string& what) {
  if (result < 0) throw Error(ErrorKind::io, "cannot create an HDF5 file: " + what);
  return result;
}

}  // namespace

Hdf5Writer::Hdf5Writer(Hdf5Storage storage) : storage_(storage) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const hid_t access = must(H5Pcreate(H5P_FILE_ACCESS), "properties");
  must(H5Pset_fapl_core(access, size_t{1} << 20, false), "memory driver");
  file_ = must(H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access), "file");
  H5Pclose(access);
  bool_type_ = must(H5Tenum_create(H5T_STD_I8LE), "boolean type");
  for (const int8_t value : {0, 1}) {
    must(H5Tenum_insert(bool_type_, value == 0 ? "FALSE" : "TRUE", &value), "boolean type");
  }
}

Hdf5Writer::~Hdf5Writer() {
  H5Tclose(bool_type_);
  H5Fclose(file_);
}

void Hdf5Writer::add_raw(const std::string& key, int64_t type, std::span<const int64_t> shape,
                         const void* data) {
  std::vector<hsize_t> dims(shape.begin(), shape.end()), most = dims, chunk = dims;
  const bool extendable = storage_ == Hdf5Storage::extendable;
  auto row_bytes = static_cast<int64_t>(H5Tget_size(type));
  for (size_t i = 1; i < shape.size(); ++i) row_bytes *= shape[i];
  const int64_t chunk_bytes = extendable ? kExtendableChunkBytes : kChunkBytes;
  chunk[0] = static_cast<hsize_t>(
      std::clamp<int64_t>(chunk_bytes / row_bytes, 1, std::max<int64_t>(shape[0], 1)));
  if (extendable) most[0] = H5S_UNLIMITED;
  const auto rank = static_cast<int>(dims.size());
  const hid_t space = must(H5Screate_simple(rank, dims.data(), most.data()), key);
  const hid_t plist = must(H5Pcreate(H5P_DATASET_CREATE), key);
  must(H5Pset_chunk(plist, rank, chunk.data()), key);
  if (!extendable) must(H5Pset_deflate(plist, kDeflateLevel), key);
  must(H5Pset_obj_track_times(plist, false), key);
  const hid_t links = must(H5Pcreate(H5P_LINK_CREATE), key);
  must(H5Pset_create_intermediate_group(links, 1), key);
  const hid_t dataset =
      must(H5Dcreate2(file_, key.c_str(), type, space, links, plist, H5P_DEFAULT), key);
  if (shape[0] > 0) must(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), key);
  H5Dclose(dataset);
  H5Pclose(links);
  H5Pclose(plist);
  H5Sclose(space);
}

void Hdf5Writer::add(const std::string& key, std::span<const int64_t> shape,
                     std::span<const float> values) {
  add_raw(key, H5T_IEEE_F32LE, shape, values.data());
}

void Hdf5Writer::add(const std::string& key, std::span<const int64_t> shape,
                     std::span<const double> values) {
  add_raw(key, H5T_IEEE_F64LE, shape, values.data());
}

void Hdf5Writer::add(const std::string& key, std::span<const int64_t> shape,
                     std::span<const int64_t> values) {
  add_raw(key, H5T_STD_I64LE, shape, values.data());
}

void Hdf5Writer::add_flags(const std::string& key, std::span<const uint8_t> values) {
  add_raw(key, bool_type_, std::array{static_cast<int64_t>(values.size())}, values.data());
}

void Hdf5Writer::add_attribute(const std::string& group, const std::string& name, int64_t value) {
  add_raw_attribute(group, name, H5T_NATIVE_INT64, &value);
}

void Hdf5Writer::add_attribute(const std::string& group, const std::string& name, double value) {
  add_raw_attribute(group, name, H5T_NATIVE_DOUBLE, &value);
}

void Hdf5Writer::add_attribute(const std::string& group, const std::string& name,
                               const std::string& value) {
  const hid_t type = must(H5Tcopy(H5T_C_S1), name);
  must(H5Tset_size(type, value.size() + 1), name);
  must(H5Tset_cset(type, H5T_CSET_UTF8), name);
  add_raw_attribute(group, name, type, value.c_str());
  H5Tclose(type);
}

void Hdf5Writer::add_raw_attribute(const std::string& group, const std::string& name, int64_t type,
                                   const void* value) {
  const std::string owner = group.empty() ? "/" : group;
  const hid_t space = must(H5Screate(H5S_SCALAR), name);
  const hid_t attribute = must(H5Acreate_by_name(file_, owner.c_str(), name.c_str(), type, space,
                                                 H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                               name);
  must(H5Awrite(attribute, type, value), name);
  H5Aclose(attribute);
  H5Sclose(space);
}

std::vector<char> Hdf5Writer::bytes() {
  must(H5Fflush(file_, H5F_SCOPE_LOCAL), "flush");
  const ssize_t size = must(H5Fget_file_image(file_, nullptr, 0), "image");
  std::vector<char> bytes(static_cast<size_t>(size));
  must(H5Fget_file_image(file_, bytes.data(), bytes.size()), "image");
  return bytes;
}

}  // namespace rl_training
