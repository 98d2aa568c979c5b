#include "rl_training/data/hdf5_file.h"

#include <hdf5.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rl_training/data/npy_header.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

static_assert(sizeof(hid_t) == sizeof(int64_t));

constexpr int64_t kMaxChunkBytes = int64_t{64} << 20;
constexpr int64_t kMaxTextBytes = int64_t{16} << 20;
constexpr hsize_t kMaxNames = 10'000'000;

// Closes a HDF5 object with the function that fits its kind.
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
std::string last_reason() {
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

// "" or why values of this type are not numbers that we read.
std::string type_problem(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  const size_t size = H5Tget_size(type);
  bool fine = (kind == H5T_INTEGER || kind == H5T_FLOAT) && size >= 1 && size <= 8;
  if (kind == H5T_ENUM) {
    // Booleans of h5py are an enumeration over int8.
    const Handle base(H5Tget_super(type), H5Tclose);
    fine = base.valid() && H5Tget_class(base) == H5T_INTEGER && H5Tget_size(base) <= 8;
  }
  if (fine) return "";
  return std::string("not numeric (expected floats, integers or booleans, got ") +
         class_name(kind) + ")";
}

// "" or why the storage of a dataset is not read.
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

// The product, or nothing past 2^62.
std::optional<int64_t> product(const std::vector<int64_t>& shape, int64_t factor) {
  int64_t result = factor;
  for (const int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(result, dim, &result)) return std::nullopt;
  }
  return result < (int64_t{1} << 62) ? std::optional(result) : std::nullopt;
}

// "" or why a dataset of this size is refused before anything is allocated for it.
// `file_size` bounds what is truly stored: chunks of a hostile file may share their bytes.
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
        (*chunk_bytes > kMaxChunkBytes && *chunk_bytes / kMaxLargeHdf5Ratio > stored)) {
      return "chunks of shape " + shape_text(dims) + " are too large";
    }
  }
  return "";
}

std::string read_string(hid_t object, hid_t type, bool attribute, std::string& problem) {
  const Handle memory(H5Tcopy(type), H5Tclose);
  const auto read = [&](void* out) {
    return attribute ? H5Aread(object, memory, out)
                     : H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
  };
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    if (read(&text) < 0 || !text) {
      problem = "cannot read the text: " + last_reason();
      return "";
    }
    std::string result(text, ::strnlen(text, kMaxTextBytes));
    H5free_memory(text);
    return result;
  }
  const size_t size = H5Tget_size(type);
  if (size > static_cast<size_t>(kMaxTextBytes)) {
    problem = "the text is too long";
    return "";
  }
  std::string result(size, '\0');
  if (read(result.data()) < 0) problem = "cannot read the text: " + last_reason();
  result.resize(::strnlen(result.data(), size));
  return result;
}

}  // namespace

Hdf5File::Hdf5File(const std::string& path) : file_(path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    fail("", std::string("cannot open: ") + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) fail("", "cannot open: not a regular file");
  if (info.st_size == 0) fail("", "cannot open: the file is empty (expected HDF5)");
  file_size_ = info.st_size;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Locks fail on some network file systems, and a reader needs none.
  H5Pset_file_locking(access, false, true);
  id_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
  if (id_ < 0) fail("", "not a complete HDF5 file: " + last_reason());
}

Hdf5File::~Hdf5File() { H5Fclose(id_); }

void Hdf5File::fail(const std::string& key, const std::string& message) const {
  throw Error(ErrorKind::data, place(key), message);
}

bool Hdf5File::check_links(const std::string& key) {
  if (key.empty()) return true;
  for (size_t end = 0; end != std::string::npos;) {
    end = key.find('/', end + 1);
    const std::string path = key.substr(0, end);
    const htri_t exists = H5Lexists(id_, path.c_str(), H5P_DEFAULT);
    if (exists < 0) fail(path, "cannot look it up: " + last_reason());
    if (exists == 0) return false;
    H5L_info_t link;
    if (H5Lget_info(id_, path.c_str(), &link, H5P_DEFAULT) < 0) {
      fail(path, "cannot look it up: " + last_reason());
    }
    if (link.type == H5L_TYPE_EXTERNAL) fail(path, "is a link to another file, which is not read");
    if (link.type != H5L_TYPE_HARD) fail(path, "is a soft link, which is not followed");
    if (end == std::string::npos) break;
    H5O_info_t object;
    if (H5Oget_info_by_name(id_, path.c_str(), &object, H5P_DEFAULT) < 0) {
      fail(path, "cannot open: " + last_reason());
    }
    if (object.type != H5O_TYPE_GROUP) return false;
  }
  return true;
}

bool Hdf5File::has(const std::string& key) { return check_links(key); }

bool Hdf5File::is_group(const std::string& key) {
  if (!check_links(key)) return false;
  if (key.empty()) return true;
  H5O_info_t object;
  if (H5Oget_info_by_name(id_, key.c_str(), &object, H5P_DEFAULT) < 0) {
    fail(key, "cannot open: " + last_reason());
  }
  return object.type == H5O_TYPE_GROUP;
}

std::vector<std::string> Hdf5File::names(const std::string& group) {
  if (!is_group(group)) fail(group, "no such group");
  const Handle id(H5Gopen2(id_, group.empty() ? "/" : group.c_str(), H5P_DEFAULT), H5Gclose);
  H5G_info_t info;
  if (!id.valid() || H5Gget_info(id, &info) < 0) fail(group, "cannot open: " + last_reason());
  if (info.nlinks > kMaxNames) fail(group, "holds too many objects");
  std::vector<std::string> names;
  hsize_t index = 0;
  const herr_t result = H5Literate(
      id, H5_INDEX_NAME, H5_ITER_NATIVE, &index,
      [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
        static_cast<std::vector<std::string>*>(out)->emplace_back(name);
        return 0;
      },
      &names);
  if (result < 0) fail(group, "cannot list: " + last_reason());
  std::sort(names.begin(), names.end());
  return names;
}

Hdf5File::Id Hdf5File::open_array(const std::string& key, bool numeric,
                                  std::vector<int64_t>& shape) {
  if (!check_links(key)) fail(key, "the file has no such array");
  H5O_info_t object;
  if (H5Oget_info_by_name(id_, key.c_str(), &object, H5P_DEFAULT) < 0) {
    fail(key, "cannot open: " + last_reason());
  }
  if (object.type != H5O_TYPE_DATASET) fail(key, "is a group (expected an array)");
  Handle dataset(H5Dopen2(id_, key.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) fail(key, "cannot open: " + last_reason());
  const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
  const Handle plist(H5Dget_create_plist(dataset), H5Pclose);
  if (!type.valid() || !space.valid() || !plist.valid()) fail(key, "damaged: " + last_reason());
  if (const auto problem = storage_problem(plist); !problem.empty()) fail(key, problem);
  if (numeric) {
    if (const auto problem = type_problem(type); !problem.empty()) fail(key, problem);
  }
  if (H5Sget_simple_extent_type(space) == H5S_NULL) fail(key, "holds nothing");
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > H5S_MAX_RANK) fail(key, "damaged: " + last_reason());
  std::vector<hsize_t> dims(static_cast<size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space, dims.data(), nullptr) != rank) {
    fail(key, "damaged: " + last_reason());
  }
  shape.clear();
  for (const hsize_t dim : dims) {
    if (dim > static_cast<hsize_t>(INT64_MAX)) fail(key, "larger than the limit of 8 GiB");
    shape.push_back(static_cast<int64_t>(dim));
  }
  if (const auto problem = size_problem(dataset, plist, type, shape, file_size_);
      !problem.empty()) {
    fail(key, problem);
  }
  return dataset.release();
}

std::vector<int64_t> Hdf5File::shape(const std::string& key) {
  std::vector<int64_t> shape;
  const Handle dataset(open_array(key, true, shape), H5Dclose);
  return shape;
}

template <class T>
std::vector<T> Hdf5File::read_as(const std::string& key, Id memory_type) {
  std::vector<int64_t> shape;
  const Handle dataset(open_array(key, true, shape), H5Dclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const int64_t count = product(shape, 1).value_or(0);
  const int64_t bytes = count * static_cast<int64_t>(std::max(sizeof(T), H5Tget_size(type)));
  if (bytes > kMaxHdf5Bytes - bytes_read_) fail(key, "the arrays exceed the limit of 8 GiB");
  bytes_read_ += bytes;
  std::vector<T> values(static_cast<size_t>(count));
  if (count > 0 &&
      H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    fail(key, "cannot read the array: " + last_reason());
  }
  return values;
}

std::vector<float> Hdf5File::read_floats(const std::string& key) {
  return read_as<float>(key, H5T_NATIVE_FLOAT);
}

std::vector<double> Hdf5File::read_doubles(const std::string& key) {
  return read_as<double>(key, H5T_NATIVE_DOUBLE);
}

std::string Hdf5File::read_text(const std::string& key) {
  std::vector<int64_t> shape;
  const Handle dataset(open_array(key, false, shape), H5Dclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  if (product(shape, 1) != 1 || H5Tget_class(type) != H5T_STRING) fail(key, "expected one text");
  std::string problem;
  auto text = read_string(dataset, type, false, problem);
  if (!problem.empty()) fail(key, problem);
  return text;
}

std::optional<std::string> Hdf5File::text_attribute(const std::string& name) {
  if (H5Aexists(id_, name.c_str()) <= 0) return std::nullopt;
  const Handle attribute(H5Aopen(id_, name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) fail(name, "cannot open the attribute: " + last_reason());
  const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) {
    return std::nullopt;
  }
  std::string problem;
  auto text = read_string(attribute, type, true, problem);
  if (!problem.empty()) fail(name, problem);
  return text;
}

std::optional<int64_t> Hdf5File::integer_attribute(const std::string& name) {
  if (H5Aexists(id_, name.c_str()) <= 0) return std::nullopt;
  const Handle attribute(H5Aopen(id_, name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) fail(name, "cannot open the attribute: " + last_reason());
  const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  const auto kind = H5Tget_class(type);
  if ((kind != H5T_INTEGER && kind != H5T_ENUM) || H5Sget_simple_extent_npoints(space) != 1) {
    return std::nullopt;
  }
  int64_t value = 0;
  if (H5Aread(attribute, H5T_NATIVE_INT64, &value) < 0) {
    fail(name, "cannot read the attribute: " + last_reason());
  }
  return value;
}

}  // namespace rl_training
