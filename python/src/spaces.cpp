#include "python/src/spaces.h"

#include <cmath>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

int64_t size_of(const py::handle& box) {
  int64_t size = 1;
  for (const auto& extent : box.attr("shape")) size *= extent.cast<int64_t>();
  return size;
}

// Returns one bound per element of a Box. `name` is low or high.
std::vector<double> bounds_of(const py::handle& box, const char* name, int64_t size) {
  const auto values = DoubleArray::ensure(box.attr(name));
  if (!values) throw py::error_already_set();
  std::vector<double> bounds(values.data(), values.data() + values.size());
  if (bounds.size() == 1) bounds.resize(static_cast<size_t>(size), bounds[0]);
  return bounds;
}

bool is_box(const py::handle& space) {
  return py::hasattr(space, "low") && py::hasattr(space, "high") && py::hasattr(space, "shape");
}

}  // namespace

std::string type_name(const py::handle& object) {
  return py::str(py::type::handle_of(object).attr("__name__")).cast<std::string>();
}

void refuse(const std::string& id, const char* key, const std::string& message) {
  throw Error(ErrorKind::config, {id, 0, key}, message);
}

void require_attributes(const std::string& id, const py::handle& task,
                        std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (py::hasattr(task, name)) continue;
    refuse(
        id, "env",
        "not an environment (expected Gymnasium's reset, step, observation_space and action_space; "
        "the " +
            type_name(task) + " has no " + name + ")");
  }
}

Space read_observation_space(const std::string& id, const py::handle& space) {
  if (is_box(space)) return Space::unbounded(size_of(space));
  refuse(id, "observation_space",
         "not a box of numbers (expected low, high and shape, got " + type_name(space) + ")");
}

Space read_action_space(const std::string& id, const py::handle& space) {
  if (py::hasattr(space, "n")) {
    if (py::hasattr(space, "start") && space.attr("start").cast<int64_t>() != 0) {
      refuse(id, "action_space", "its values do not start at 0");
    }
    return Space::discrete(space.attr("n").cast<int64_t>());
  }
  if (!is_box(space)) {
    refuse(id, "action_space",
           "neither a box nor a discrete space (expected low, high and shape, or n, got " +
               type_name(space) + ")");
  }
  const int64_t size = size_of(space);
  auto box = Space::box(bounds_of(space, "low", size), bounds_of(space, "high", size));
  for (size_t k = 0; k < box.low.size(); ++k) {
    if (std::isfinite(box.low[k]) && std::isfinite(box.high[k])) continue;
    refuse(id, "action_space",
           "element " + std::to_string(k) + " has no bounds to scale actions to");
  }
  return box;
}

ActionLayout::ActionLayout(const Space& space, const py::handle& given)
    : discrete(space.is_discrete()) {
  if (discrete) return;
  for (const auto& extent : given.attr("shape")) shape.push_back(extent.cast<py::ssize_t>());
  doubles = py::isinstance<py::array_t<double>>(given.attr("low"));
}

void read_observation(const std::string& id, const py::handle& value, std::span<double> out) {
  using Floats = py::array_t<float, py::array::c_style>;
  const auto take = [&](const auto& array) {
    if (static_cast<size_t>(array.size()) != out.size()) {
      throw Error(ErrorKind::data, {id, 0, "observation"},
                  "not in the observation space (expected " + std::to_string(out.size()) +
                      " numbers, got " + std::to_string(array.size()) + ")");
    }
    std::copy(array.data(), array.data() + array.size(), out.begin());
  };
  if (Floats::check_(value)) {
    take(py::reinterpret_borrow<Floats>(value));
    return;
  }
  const auto doubles = DoubleArray::ensure(value);
  if (!doubles) {
    PyErr_Clear();
    throw Error(ErrorKind::data, {id, 0, "observation"},
                "not an array of numbers (got " + type_name(value) + ")");
  }
  take(doubles);
}

}  // namespace rl_training
