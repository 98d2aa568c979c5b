#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "rl_training/data/memory_arrays.h"
#include "rl_training/util/json.h"

namespace rl_training {

namespace py = pybind11;

py::object to_python(const Json& json);
// Of text that Python's json module wrote.
Json parse_arguments(const std::string& text);

// Arrays by name. They are used where they are if they are contiguous and of a type that the
// library reads; other types are converted once.
std::shared_ptr<MemoryArrays> memory_arrays(const py::dict& arrays);

// What each file of the module adds to it.
void bind_errors(py::module_& module);
void bind_registry(py::module_& module);
void bind_datasets(py::module_& module);
void bind_environments(py::module_& module);
void bind_agents(py::module_& module);
void bind_analysis(py::module_& module);
void bind_sweeps(py::module_& module);

}  // namespace rl_training
