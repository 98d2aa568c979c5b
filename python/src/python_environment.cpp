#include "python/src/python_environment.h"

#include <cmath>
#include <cstring>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

std::string type_name(const py::handle& object) {
  return py::str(py::type::handle_of(object).attr("__name__")).cast<std::string>();
}

[[noreturn]] void refuse(const std::string& id, const char* key, const std::string& message) {
  throw Error(ErrorKind::config, {id, 0, key}, message);
}

int64_t size_of(const py::handle& box) {
  int64_t size = 1;
  for (const auto& extent : box.attr("shape")) size *= extent.cast<int64_t>();
  return size;
}

// One bound for each element of a Box, where `name` is low or high.
std::vector<double> bounds_of(const py::handle& box, const char* name, int64_t size) {
  using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
  const auto values = Doubles::ensure(box.attr(name));
  if (!values) throw py::error_already_set();
  std::vector<double> bounds(values.data(), values.data() + values.size());
  if (bounds.size() == 1) bounds.resize(static_cast<size_t>(size), bounds[0]);
  return bounds;
}

bool is_box(const py::handle& space) {
  return py::hasattr(space, "low") && py::hasattr(space, "high") && py::hasattr(space, "shape");
}

Space observation_space(const std::string& id, const py::handle& space) {
  if (is_box(space)) return Space::unbounded(size_of(space));
  refuse(id, "observation_space",
         "not a box of numbers (expected low, high and shape, got " + type_name(space) + ")");
}

Space action_space(const std::string& id, const py::handle& space) {
  if (py::hasattr(space, "n")) {
    if (py::hasattr(space, "start") && space.attr("start").cast<int64_t>() != 0) {
      refuse(id, "action_space", "its choices do not start at 0");
    }
    return Space::discrete(space.attr("n").cast<int64_t>());
  }
  if (!is_box(space)) {
    refuse(id, "action_space",
           "neither a box nor a choice (expected low, high and shape, or n, got " +
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

}  // namespace

PythonEnvironment::PythonEnvironment(const std::string& id, py::object task)
    : task_(std::move(task)) {
  for (const char* name : {"reset", "step", "observation_space", "action_space"}) {
    if (py::hasattr(task_, name)) continue;
    refuse(id, "env",
           "no environment (expected Gymnasium's reset, step, observation_space and action_space; "
           "the " +
               type_name(task_) + " has no " + name + ")");
  }
  reset_ = task_.attr("reset");
  step_ = task_.attr("step");
  spec_.id = id;
  spec_.observation = observation_space(id, task_.attr("observation_space"));
  const py::object actions = task_.attr("action_space");
  spec_.action = action_space(id, actions);
  spec_.one_thread = true;  // the interpreter runs one at a time
  if (!spec_.action.is_discrete()) {
    for (const auto& extent : actions.attr("shape")) {
      action_shape_.push_back(extent.cast<py::ssize_t>());
    }
    double_actions_ = py::isinstance<py::array_t<double>>(actions.attr("low"));
  }
  last_obs_.resize(static_cast<size_t>(spec_.observation.size()));
}

PythonEnvironment::~PythonEnvironment() {
  const py::gil_scoped_acquire gil;
  step_ = reset_ = task_ = py::object();
}

void PythonEnvironment::reset(Rng& rng, std::span<double> obs) {
  seed_ = static_cast<int64_t>(rng.next() >> 33);  // 31 bits, which every generator takes
  actions_.clear();
  const py::gil_scoped_acquire gil;
  reset_task(obs);
}

StepResult PythonEnvironment::step(std::span<const double> action, std::span<double> obs) {
  actions_.insert(actions_.end(), action.begin(), action.end());
  const py::gil_scoped_acquire gil;
  return step_task(action, obs);
}

void PythonEnvironment::reset_task(std::span<double> obs) {
  const py::object result = reset_(py::arg("seed") = seed_);
  if (!py::isinstance<py::tuple>(result) || py::len(result) != 2) {
    refuse(spec_.id, "reset",
           "gives no pair (expected (observation, info), got " + type_name(result) + ")");
  }
  read_observation(result[py::int_(0)], obs);
}

StepResult PythonEnvironment::step_task(std::span<const double> action, std::span<double> obs) {
  const py::object result = step_(make_action(action));
  if (!py::isinstance<py::tuple>(result) || py::len(result) != 5) {
    refuse(spec_.id, "step",
           "does not give five values (expected (observation, reward, terminated, truncated, "
           "info))");
  }
  const auto tuple = py::reinterpret_borrow<py::tuple>(result);
  read_observation(tuple[0], obs);
  StepResult step;
  step.reward = PyFloat_AsDouble(tuple[1].ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  step.terminated = PyObject_IsTrue(tuple[2].ptr()) == 1;
  step.truncated = PyObject_IsTrue(tuple[3].ptr()) == 1;
  return step;
}

// A new array for each step: a task may keep what it is given.
py::object PythonEnvironment::make_action(std::span<const double> action) const {
  if (spec_.action.is_discrete()) return py::int_(static_cast<int64_t>(action[0]));
  if (double_actions_) {
    py::array_t<double> array(action_shape_);
    std::copy(action.begin(), action.end(), array.mutable_data());
    return array;
  }
  py::array_t<float> array(action_shape_);
  std::transform(action.begin(), action.end(), array.mutable_data(),
                 [](double value) { return static_cast<float>(value); });
  return array;
}

void PythonEnvironment::read_observation(const py::handle& value, std::span<double> obs) {
  using Floats = py::array_t<float, py::array::c_style>;
  using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
  const auto take = [&](const auto& array) {
    if (static_cast<size_t>(array.size()) != obs.size()) {
      throw Error(ErrorKind::data, {spec_.id, 0, "observation"},
                  "not of the observation space (expected " + std::to_string(obs.size()) +
                      " numbers, got " + std::to_string(array.size()) + ")");
    }
    std::copy(array.data(), array.data() + array.size(), obs.begin());
  };
  if (Floats::check_(value)) {
    take(py::reinterpret_borrow<Floats>(value));
  } else {
    const auto doubles = Doubles::ensure(value);
    if (!doubles) {
      PyErr_Clear();
      throw Error(ErrorKind::data, {spec_.id, 0, "observation"},
                  "not an array of numbers (got " + type_name(value) + ")");
    }
    take(doubles);
  }
  std::copy(obs.begin(), obs.end(), last_obs_.begin());
}

std::vector<double> PythonEnvironment::state() const {
  refuse(spec_.id, "env", "an environment written in Python does not tell its inner state");
}

void PythonEnvironment::set_state(std::span<const double> /*state*/) { (void)state(); }

void PythonEnvironment::observe(std::span<double> obs) const {
  std::copy(last_obs_.begin(), last_obs_.end(), obs.begin());
}

void PythonEnvironment::visit_state(StateVisitor& state) {
  const auto to_bytes = [](const std::vector<double>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(double));
  };
  const int64_t seed_before = seed_;
  const std::string before = to_bytes(actions_);
  std::string after = before;
  state.scalar("episode_seed", seed_, -1);
  state.text("episode_actions", after);
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(last_obs_.size())};
  state.array("last_obs", DType::f64, shape, last_obs_.data());
  if (seed_ == seed_before && after == before) return;
  // Loaded.
  if (after.size() % (sizeof(double) * static_cast<size_t>(spec_.action.size())) != 0) {
    throw Error(ErrorKind::checkpoint, {"", 0, "episode_actions"}, "no actions of this task");
  }
  actions_.resize(after.size() / sizeof(double));
  std::memcpy(actions_.data(), after.data(), after.size());
  if (seed_ >= 0) play_again();
}

void PythonEnvironment::play_again() {
  const py::gil_scoped_acquire gil;
  const auto expected = last_obs_;
  const auto dims = static_cast<size_t>(spec_.action.size());
  std::vector<double> obs(last_obs_.size());
  reset_task(obs);
  for (size_t at = 0; at < actions_.size(); at += dims) {
    step_task(std::span(actions_).subspan(at, dims), obs);
  }
  if (obs == expected) return;
  const std::string message =
      spec_.id +
      ": the episode came out differently when it was played again: the run goes on, but not "
      "exactly as it would have (expected episodes that follow from reset(seed=...) and actions)";
  if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 1) != 0) throw py::error_already_set();
}

}  // namespace rl_training
