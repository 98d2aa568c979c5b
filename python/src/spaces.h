#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "rl_training/data/space.h"

namespace rl_training {

namespace py = pybind11;

using DoubleArray = py::array_t<double, py::array::c_style | py::array::forcecast>;

// Reads Gymnasium's spaces. They are recognised by their attributes: a Box has low, high and shape,
// and a Discrete has n. Multi-dimensional Boxes are flattened. Other spaces, and Discrete
// observation spaces, cause Error{config} that names the environment `id`.
Space read_observation_space(const std::string& id, const py::handle& space);
Space read_action_space(const std::string& id, const py::handle& space);

// The form in which actions are passed to a task.
struct ActionLayout {
  ActionLayout() = default;
  ActionLayout(const Space& space, const py::handle& given);

  bool discrete = false, doubles = false;
  std::vector<py::ssize_t> shape;  // shape of one action; empty if discrete
};

std::string type_name(const py::handle& object);
[[noreturn]] void refuse(const std::string& id, const char* key, const std::string& message);
// Throws Error{config} if `task` lacks one of the attributes `names`.
void require_attributes(const std::string& id, const py::handle& task,
                        std::initializer_list<const char*> names);
// Reads an observation with `out.size()` values, of any numeric type and shape.
void read_observation(const std::string& id, const py::handle& value, std::span<double> out);

}  // namespace rl_training
