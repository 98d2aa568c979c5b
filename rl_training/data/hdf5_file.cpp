#include "rl_training/data/hdf5_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rl_training/data/hdf5_checks.h"
#include "rl_training/data/hdf5_chunks.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

static_assert(sizeof(hid_t) == sizeof(int64_t));

constexpr int64_t kMaxTextBytes = int64_t{16} << 20;
constexpr int64_t kBlockBytes = int64_t{4} << 20;
constexpr int64_t kManyBytes = int64_t{1} << 20;  // from this size on, several threads are faster
constexpr hsize_t kMaxNames = 10'000'000;

std::string read_string(hid_t object, hid_t type, bool attribute, std::string& problem) {
  const Handle memory(H5Tcopy(type), H5Tclose);
  const auto read = [&](void* out) {
    return attribute ? H5Aread(object, memory, out)
                     : H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
  };
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    if (read(&text) < 0 || !text) {
      problem = "cannot read the text: " + last_hdf5_reason();
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
  if (read(result.data()) < 0) problem = "cannot read the text: " + last_hdf5_reason();
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
  // Locks fail on some network file systems, and readers do not need them.
  H5Pset_file_locking(access, false, true);
  id_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
  if (id_ < 0) fail("", "not a complete HDF5 file: " + last_hdf5_reason());
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
    if (exists < 0) fail(path, "cannot look it up: " + last_hdf5_reason());
    if (exists == 0) return false;
    H5L_info_t link;
    if (H5Lget_info(id_, path.c_str(), &link, H5P_DEFAULT) < 0) {
      fail(path, "cannot look it up: " + last_hdf5_reason());
    }
    if (link.type == H5L_TYPE_EXTERNAL) fail(path, "is a link to another file, which is not read");
    if (link.type != H5L_TYPE_HARD) fail(path, "is a soft link, which is not followed");
    if (end == std::string::npos) break;
    H5O_info_t object;
    if (H5Oget_info_by_name(id_, path.c_str(), &object, H5P_DEFAULT) < 0) {
      fail(path, "cannot open: " + last_hdf5_reason());
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
    fail(key, "cannot open: " + last_hdf5_reason());
  }
  return object.type == H5O_TYPE_GROUP;
}

std::vector<std::string> Hdf5File::names(const std::string& group) {
  if (!is_group(group)) fail(group, "no such group");
  const Handle id(H5Gopen2(id_, group.empty() ? "/" : group.c_str(), H5P_DEFAULT), H5Gclose);
  H5G_info_t info;
  if (!id.valid() || H5Gget_info(id, &info) < 0) fail(group, "cannot open: " + last_hdf5_reason());
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
  if (result < 0) fail(group, "cannot list: " + last_hdf5_reason());
  std::sort(names.begin(), names.end());
  return names;
}

Hdf5File::Id Hdf5File::open_array(const std::string& key, bool numeric,
                                  std::vector<int64_t>& shape) {
  if (!check_links(key)) fail(key, "the file has no such array");
  H5O_info_t object;
  if (H5Oget_info_by_name(id_, key.c_str(), &object, H5P_DEFAULT) < 0) {
    fail(key, "cannot open: " + last_hdf5_reason());
  }
  if (object.type != H5O_TYPE_DATASET) fail(key, "is a group (expected an array)");
  Handle dataset(H5Dopen2(id_, key.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) fail(key, "cannot open: " + last_hdf5_reason());
  const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
  const Handle plist(H5Dget_create_plist(dataset), H5Pclose);
  if (!type.valid() || !space.valid() || !plist.valid())
    fail(key, "damaged: " + last_hdf5_reason());
  if (const auto problem = storage_problem(plist); !problem.empty()) fail(key, problem);
  if (numeric) {
    if (const auto problem = type_problem(type); !problem.empty()) fail(key, problem);
  }
  if (H5Sget_simple_extent_type(space) == H5S_NULL) fail(key, "holds nothing");
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > H5S_MAX_RANK) fail(key, "damaged: " + last_hdf5_reason());
  std::vector<hsize_t> dims(static_cast<size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space, dims.data(), nullptr) != rank) {
    fail(key, "damaged: " + last_hdf5_reason());
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

bool Hdf5File::is_integer(const std::string& key) {
  std::vector<int64_t> shape;
  const Handle dataset(open_array(key, true, shape), H5Dclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  return H5Tget_class(type) != H5T_FLOAT;
}

// An array that is open for reading. Its size counts towards the limit for the file.
struct Hdf5File::Array {
  std::vector<int64_t> shape;
  Handle dataset;
  std::optional<ChunkReader> chunks;
};

Hdf5File::Array Hdf5File::open_for_reading(const std::string& key, int64_t element_bytes) {
  std::vector<int64_t> shape;
  Handle dataset(open_array(key, true, shape), H5Dclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const int64_t count = product(shape, 1).value_or(0);
  const int64_t bytes = count * std::max(element_bytes, static_cast<int64_t>(H5Tget_size(type)));
  if (bytes > kMaxHdf5Bytes - bytes_read_) fail(key, "the arrays exceed the limit of 8 GiB");
  bytes_read_ += bytes;
  std::optional<ChunkReader> chunks;
  if (bytes >= kManyBytes) chunks = ChunkReader::open(dataset, shape, file_size_);
  return {std::move(shape), Handle(dataset.release(), H5Dclose), chunks};
}

template <class T>
void Hdf5File::read_rows(const std::string& key, Array& array, int64_t first, int64_t rows,
                         T* out) {
  if (array.chunks) {
    if (!pool_) pool_ = std::make_unique<ThreadPool>(std::min(available_cores(), 4));
    if (array.chunks->read(first, rows, out, *pool_)) return;
    array.chunks.reset();  // libhdf5 reads unusual chunks or reports the error
  }
  std::vector<hsize_t> start(array.shape.size(), 0), count(array.shape.begin(), array.shape.end());
  if (!start.empty()) {
    start[0] = static_cast<hsize_t>(first);
    count[0] = static_cast<hsize_t>(rows);
  }
  const auto rank = static_cast<int>(count.size());
  const Handle in_file(H5Dget_space(array.dataset), H5Sclose);
  const Handle in_memory(
      rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, count.data(), nullptr), H5Sclose);
  const bool selected = rank == 0 || H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(),
                                                         nullptr, count.data(), nullptr) >= 0;
  const hid_t type = sizeof(T) == sizeof(float) ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  if (!selected || H5Dread(array.dataset, type, in_memory, in_file, H5P_DEFAULT, out) < 0) {
    fail(key, "cannot read the array: " + last_hdf5_reason());
  }
}

template <class T>
std::vector<T> Hdf5File::read_all(const std::string& key) {
  auto array = open_for_reading(key, sizeof(T));
  std::vector<T> values(static_cast<size_t>(product(array.shape, 1).value_or(0)));
  if (!values.empty()) {
    read_rows(key, array, 0, array.shape.empty() ? 1 : array.shape[0], values.data());
  }
  return values;
}

template <class T>
void Hdf5File::read_all_blocks(const std::string& key, const BlockUser<T>& use) {
  auto array = open_for_reading(key, sizeof(T));
  const int64_t rows = array.shape.empty() ? 1 : array.shape[0];
  const int64_t width = rows > 0 ? product(array.shape, 1).value_or(0) / rows : 0;
  if (width == 0) return;
  const int64_t most = std::max<int64_t>(kBlockBytes / static_cast<int64_t>(sizeof(T)) / width, 1);
  const int64_t step = array.chunks ? array.chunks->whole_chunk_rows(most) : most;
  std::vector<T> block(static_cast<size_t>(std::min(step, rows) * width));
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = std::min(step, rows - first);
    read_rows(key, array, first, count, block.data());
    use(first, std::span<const T>(block).first(static_cast<size_t>(count * width)));
  }
}

std::vector<float> Hdf5File::read_floats(const std::string& key) { return read_all<float>(key); }

std::vector<double> Hdf5File::read_doubles(const std::string& key) { return read_all<double>(key); }

void Hdf5File::read_into(const std::string& key, std::span<float> out,
                         const BlockUser<float>& look) {
  auto array = open_for_reading(key, sizeof(float));
  if (product(array.shape, 1) != static_cast<int64_t>(out.size())) {
    throw Error(ErrorKind::internal, "read_into: not the size of the array");
  }
  if (out.empty()) return;
  read_rows(key, array, 0, array.shape.empty() ? 1 : array.shape[0], out.data());
  look(0, out);
}

void Hdf5File::read_blocks(const std::string& key, const BlockUser<float>& use) {
  read_all_blocks(key, use);
}

void Hdf5File::read_blocks(const std::string& key, const BlockUser<double>& use) {
  read_all_blocks(key, use);
}

std::optional<PlainArray> Hdf5File::plain_array(const std::string& key) {
  PlainArray array;
  const Handle dataset(open_array(key, true, array.shape), H5Dclose);
  const Handle type(H5Dget_type(dataset), H5Tclose), plist(H5Dget_create_plist(dataset), H5Pclose);
  const auto item = plain_item(type);
  if (!item || H5Pget_layout(plist) != H5D_CONTIGUOUS) return std::nullopt;
  array.item = *item;
  const auto bytes = product(array.shape, static_cast<int64_t>(H5Tget_size(type)));
  const haddr_t offset = H5Dget_offset(dataset);
  if (!bytes || *bytes < 1 || *bytes > file_size_ || offset == HADDR_UNDEF ||
      H5Dget_storage_size(dataset) != static_cast<hsize_t>(*bytes) ||
      offset > static_cast<haddr_t>(file_size_ - *bytes)) {
    return std::nullopt;
  }
  array.offset = static_cast<int64_t>(offset);
  return array;
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
  if (!attribute.valid()) fail(name, "cannot open the attribute: " + last_hdf5_reason());
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
  if (!attribute.valid()) fail(name, "cannot open the attribute: " + last_hdf5_reason());
  const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  const auto kind = H5Tget_class(type);
  if ((kind != H5T_INTEGER && kind != H5T_ENUM) || H5Sget_simple_extent_npoints(space) != 1) {
    return std::nullopt;
  }
  int64_t value = 0;
  if (H5Aread(attribute, H5T_NATIVE_INT64, &value) < 0) {
    fail(name, "cannot read the attribute: " + last_hdf5_reason());
  }
  return value;
}

}  // namespace rl_training
