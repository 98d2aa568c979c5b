#include "rl_training/data/hdf5_checks.h"

#include <algorithm>

#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/npy_header.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr int64_t kLargeChunkBytes = int64_t{64} << 20;

std::string filter_name(H5Z_filter_t filter) {
  if (filter == 32000) return "lzf";
  if (filter == H5Z_FILTER_SZIP) return "szip";
  if (filter == H5Z_FILTER_NBIT) return "nbit";
  if (filter == H5Z_FILTER_SCALEOFFSET) return "scaleoffset";
  return "number " + std::to_string(filter);
}

const char* class_name(H5T_class_t type) {
  switch (type) {
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "a compound";
    case H5T_VLEN:
      return "arrays of varying length";
    case H5T_REFERENCE:
      return "references";
    default:
      return "another type";
  }
}

}  // namespace

std::string last_hdf5_reason() {
  std::string reason;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned level, const H5E_error2_t* entry, void* out) -> herr_t {
        if (level == 0 && entry->desc) *static_cast<std::string*>(out) = entry->desc;
        return 0;
      },
      &reason);
  for (char& c : reason) c = static_cast<unsigned char>(c) < 32 ? ' ' : c;
  return reason.empty() ? "unknown reason" : shortened(reason, 120);
}

std::string type_problem(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  const size_t size = H5Tget_size(type);
  bool fine = (kind == H5T_INTEGER || kind == H5T_FLOAT) && size >= 1 && size <= 8;
  if (kind == H5T_ENUM) {
    // h5py stores booleans as an enumeration over int8.
    const Handle base(H5Tget_super(type), H5Tclose);
    fine = base.valid() && H5Tget_class(base) == H5T_INTEGER && H5Tget_size(base) <= 8;
  }
  if (fine) return "";
  return std::string("not numeric (expected floats, integers or booleans, got ") +
         class_name(kind) + ")";
}

std::optional<PlainArray::Item> plain_item(hid_t type) {
  if (H5Tget_class(type) == H5T_ENUM) {
    const Handle base(H5Tget_super(type), H5Tclose);
    return base.valid() ? plain_item(base) : std::nullopt;
  }
  if (H5Tequal(type, H5T_NATIVE_FLOAT) > 0) return PlainArray::Item::float32;
  if (H5Tequal(type, H5T_NATIVE_DOUBLE) > 0) return PlainArray::Item::float64;
  if (H5Tequal(type, H5T_NATIVE_INT8) > 0) return PlainArray::Item::int8;
  if (H5Tequal(type, H5T_NATIVE_UINT8) > 0) return PlainArray::Item::uint8;
  return std::nullopt;
}

std::string storage_problem(hid_t plist) {
  const H5D_layout_t layout = H5Pget_layout(plist);
  if (layout == H5D_VIRTUAL) return "virtual datasets are not read";
  if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED) {
    return "unknown storage layout";
  }
  if (H5Pget_external_count(plist) != 0) return "data in external files are not read";
  const int filters = H5Pget_nfilters(plist);
  if (filters < 0) return "damaged filter list";
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, config = 0;
    size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(plist, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, 0, nullptr, &config);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
        filter != H5Z_FILTER_FLETCHER32) {
      return "unsupported filter " + filter_name(filter) +
             " (expected deflate, shuffle or fletcher32)";
    }
  }
  return "";
}

std::optional<int64_t> product(const std::vector<int64_t>& shape, int64_t factor) {
  int64_t result = factor;
  for (const int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(result, dim, &result)) return std::nullopt;
  }
  return result < (int64_t{1} << 62) ? std::optional(result) : std::nullopt;
}

std::string size_problem(hid_t dataset, hid_t plist, hid_t type, const std::vector<int64_t>& shape,
                         int64_t file_size) {
  const auto bytes = product(shape, static_cast<int64_t>(H5Tget_size(type)));
  const auto in_memory = product(shape, sizeof(float));
  if (!bytes || !in_memory || *in_memory > kMaxHdf5Bytes) {
    return "shape " + shape_text(shape) + " is larger than the limit of 8 GiB";
  }
  const auto stored = static_cast<int64_t>(
      std::min<hsize_t>(H5Dget_storage_size(dataset), static_cast<hsize_t>(file_size)));
  const int64_t ratio = *bytes > kLargeHdf5Array ? kMaxLargeHdf5Ratio : kMaxHdf5Ratio;
  if (*bytes / ratio > stored) {
    return "shape " + shape_text(shape) + " does not fit the data (only " + std::to_string(stored) +
           " bytes are stored)";
  }
  if (H5Pget_layout(plist) == H5D_CHUNKED) {
    std::vector<hsize_t> chunk(shape.size());
    const int rank = H5Pget_chunk(plist, static_cast<int>(chunk.size()), chunk.data());
    const std::vector<int64_t> dims(chunk.begin(), chunk.end());
    const auto chunk_bytes = product(dims, static_cast<int64_t>(H5Tget_size(type)));
    if (rank != static_cast<int>(shape.size()) || !chunk_bytes ||
        (*chunk_bytes > kLargeChunkBytes && *chunk_bytes / kMaxLargeHdf5Ratio > stored)) {
      return "chunks of shape " + shape_text(dims) + " are too large";
    }
  }
  return "";
}

}  // namespace rl_training
