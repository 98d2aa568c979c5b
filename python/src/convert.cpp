#include "python/src/convert.h"

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// Returns a column that shares the memory of an array. The column holds a reference to the array
// and releases it under the GIL.
template <class T>
Column<T> shared_column(const py::array_t<T, py::array::c_style>& array) {
  std::shared_ptr<const void> owner(array.inc_ref().ptr(), [](const void* object) {
    const py::gil_scoped_acquire gil;
    py::handle(static_cast<PyObject*>(const_cast<void*>(object))).dec_ref();
  });
  return {std::move(owner), array.data(), static_cast<int64_t>(array.size())};
}

template <class T>
bool take_as(const py::array& array, MemoryArrays::Values& values) {
  if (!py::isinstance<py::array_t<T>>(array)) return false;
  values = shared_column<T>(py::array_t<T, py::array::c_style>::ensure(array));
  return true;
}

MemoryArrays::Values values_of(const std::string& key, const py::array& array) {
  MemoryArrays::Values values;
  if (py::isinstance<py::array_t<bool>>(array)) {
    values = shared_column<uint8_t>(
        py::array_t<uint8_t, py::array::c_style>::ensure(array.attr("astype")("uint8")));
    return values;
  }
  if (take_as<float>(array, values) || take_as<double>(array, values) ||
      take_as<int64_t>(array, values) || take_as<int32_t>(array, values) ||
      take_as<uint8_t>(array, values)) {
    return values;
  }
  const char kind = array.dtype().kind();
  if (kind == 'f' || kind == 'i' || kind == 'u') {
    values = shared_column<double>(
        py::array_t<double, py::array::c_style>::ensure(array.attr("astype")("float64")));
    return values;
  }
  throw Error(
      ErrorKind::data, {MemoryArrays::kFile, 0, key},
      "not an array of numbers (got dtype " + py::str(array.dtype()).cast<std::string>() + ")");
}

}  // namespace

py::object to_python(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return py::bool_(json.get<bool>());
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return py::int_(json.get<int64_t>());
    case Json::value_t::number_float:
      return py::float_(json.get<double>());
    case Json::value_t::string:
      return py::str(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      py::list list;
      for (const auto& item : json) list.append(to_python(item));
      return list;
    }
    case Json::value_t::object: {
      py::dict dict;
      for (const auto& [key, value] : json.items()) dict[py::str(key)] = to_python(value);
      return dict;
    }
    default:
      return py::none();
  }
}

Json parse_arguments(const std::string& text) {
  Json json = parse_untrusted_json(text);
  if (json.is_object()) return json;
  throw Error(ErrorKind::config,
              "the options are not plain values (expected finite numbers, text, lists and dicts)");
}

std::shared_ptr<MemoryArrays> memory_arrays(const py::dict& arrays) {
  auto made = std::make_shared<MemoryArrays>();
  for (const auto& [name, value] : arrays) {
    const auto key = name.cast<std::string>();
    const auto array = py::array::ensure(value);
    if (!array) {
      PyErr_Clear();
      throw Error(ErrorKind::data, {MemoryArrays::kFile, 0, key}, "not an array");
    }
    made->add(key, {array.shape(), array.shape() + array.ndim()}, values_of(key, array));
  }
  return made;
}

}  // namespace rl_training
