#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "rl_training/data/memory_arrays.h"
#include "rl_training/envs/registry.h"
#include "rl_training/util/json.h"

namespace rl_training {

namespace py = pybind11;

py::object to_python(const Json& json);
// Parses text written by Python's json module.
Json parse_arguments(const std::string& text);

// Converts a dict of NumPy arrays, keyed by column name. Contiguous arrays of a supported type are
// used without a copy; other arrays are converted once.
std::shared_ptr<MemoryArrays> memory_arrays(const py::dict& arrays);

// Reads the options of an environment from text written by Python's json module. Unknown ids have
// no options.
EnvOptions read_env_options(const std::string& id, const std::string& text);

// Each of these functions adds the bindings of one source file to the module.
void bind_errors(py::module_& module);
void bind_registry(py::module_& module);
void bind_datasets(py::module_& module);
void bind_environments(py::module_& module);
void bind_agents(py::module_& module);
void bind_analysis(py::module_& module);
void bind_sweeps(py::module_& module);

}  // namespace rl_training
