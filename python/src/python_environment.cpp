#include "python/src/python_environment.h"

#include <array>
#include <cstring>

#include "rl_training/util/error.h"

namespace rl_training {

PythonEnvironment::PythonEnvironment(const std::string& id, py::object task)
    : task_(std::move(task)) {
  require_attributes(id, task_, {"reset", "step", "observation_space", "action_space"});
  reset_ = task_.attr("reset");
  step_ = task_.attr("step");
  spec_.id = id;
  spec_.observation = read_observation_space(id, task_.attr("observation_space"));
  const py::object actions = task_.attr("action_space");
  spec_.action = read_action_space(id, actions);
  spec_.one_thread = true;  // the interpreter runs one thread at a time
  layout_ = ActionLayout(spec_.action, actions);
  last_obs_.resize(static_cast<size_t>(spec_.observation.size()));
}

PythonEnvironment::~PythonEnvironment() {
  const py::gil_scoped_acquire gil;
  step_ = reset_ = task_ = py::object();
}

void PythonEnvironment::reset(Rng& rng, std::span<double> obs) {
  // Use 31 bits, because every random generator in Python accepts a seed of this size.
  seed_ = static_cast<int64_t>(rng.next() >> 33);
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
           "does not return a pair (expected (observation, info), got " + type_name(result) + ")");
  }
  take_observation(result[py::int_(0)], obs);
}

StepResult PythonEnvironment::step_task(std::span<const double> action, std::span<double> obs) {
  const py::object result = step_(make_action(action));
  if (!py::isinstance<py::tuple>(result) || py::len(result) != 5) {
    refuse(spec_.id, "step",
           "does not return five values (expected (observation, reward, terminated, truncated, "
           "info))");
  }
  const auto tuple = py::reinterpret_borrow<py::tuple>(result);
  take_observation(tuple[0], obs);
  StepResult step;
  step.reward = PyFloat_AsDouble(tuple[1].ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  step.terminated = PyObject_IsTrue(tuple[2].ptr()) == 1;
  step.truncated = PyObject_IsTrue(tuple[3].ptr()) == 1;
  return step;
}

// Creates a new array for each step, because a task may store its argument.
py::object PythonEnvironment::make_action(std::span<const double> action) const {
  if (layout_.discrete) return py::int_(static_cast<int64_t>(action[0]));
  if (layout_.doubles) {
    py::array_t<double> array(layout_.shape);
    std::copy(action.begin(), action.end(), array.mutable_data());
    return array;
  }
  py::array_t<float> array(layout_.shape);
  std::transform(action.begin(), action.end(), array.mutable_data(),
                 [](double value) { return static_cast<float>(value); });
  return array;
}

void PythonEnvironment::take_observation(const py::handle& value, std::span<double> obs) {
  read_observation(spec_.id, value, obs);
  std::copy(obs.begin(), obs.end(), last_obs_.begin());
}

std::vector<double> PythonEnvironment::state() const {
  refuse(spec_.id, "env", "an environment written in Python does not expose its internal state");
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
  // A visitor either saves or loads. The values have changed, so this visitor has loaded a
  // checkpoint.
  if (after.size() % (sizeof(double) * static_cast<size_t>(spec_.action.size())) != 0) {
    throw Error(ErrorKind::checkpoint, {"", 0, "episode_actions"}, "not actions of this task");
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
      ": the episode differed when it was replayed, so the resumed run is not exact (expected "
      "episodes that follow from reset(seed=...) and actions)";
  if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 1) != 0) throw py::error_already_set();
}

}  // namespace rl_training
