// Translates errors of the library to Python exceptions with file, line and key.
#include "python/src/convert.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

void raise_in_python(const Error& error) {
  const auto none_if = [](bool empty, py::object value) -> py::object {
    return empty ? py::none() : std::move(value);
  };
  const auto& place = error.place();
  try {
    const auto type =
        py::module_::import("rl_training._errors").attr("BY_KIND")[error_kind_name(error.kind())];
    const auto exception = type(error.what(), none_if(place.file.empty(), py::str(place.file)),
                                none_if(place.line <= 0, py::int_(place.line)),
                                none_if(place.key.empty(), py::str(place.key)));
    PyErr_SetObject(py::object(type).ptr(), exception.ptr());
  } catch (py::error_already_set& failed) {
    failed.restore();
  }
}

}  // namespace

void bind_errors(py::module_& /*module*/) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise_in_python(error);
    }
  });
}

}  // namespace rl_training
