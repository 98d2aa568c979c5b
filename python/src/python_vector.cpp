#include "python/src/python_vector.h"

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// Reads metadata["autoreset_mode"]: a member of Gymnasium's AutoresetMode, or its name or value.
Autoreset autoreset_of(const std::string& id, const py::handle& task) {
  py::object mode = py::none();
  if (py::hasattr(task, "metadata") && py::isinstance<py::dict>(task.attr("metadata"))) {
    mode = task.attr("metadata").attr("get")("autoreset_mode");
  }
  if (py::hasattr(mode, "value")) mode = mode.attr("value");
  const auto text = py::str(mode).cast<std::string>();
  if (text == "NextStep" || text == "NEXT_STEP") return Autoreset::next_step;
  if (text == "SameStep" || text == "SAME_STEP") return Autoreset::same_step;
  if (text == "Disabled" || text == "DISABLED") return Autoreset::disabled;
  refuse(id, "env",
         "does not state when its episodes begin (expected metadata[\"autoreset_mode\"] NextStep, "
         "SameStep or Disabled, got " +
             text + ")");
}

// Converts `value` to an array with one number per member.
DoubleArray numbers(const std::string& id, const char* name, const py::handle& value,
                    int64_t count) {
  auto array = DoubleArray::ensure(value);
  if (array && array.size() == count) return array;
  PyErr_Clear();
  refuse(id, "step",
         std::string("its ") + name + " are not one for each of " + std::to_string(count) +
             " environments");
}

}  // namespace

PythonVector::PythonVector(const std::string& id, py::object task) : task_(std::move(task)) {
  require_attributes(
      id, task_, {"reset", "step", "num_envs", "single_observation_space", "single_action_space"});
  count_ = task_.attr("num_envs").cast<int64_t>();
  autoreset_ = autoreset_of(id, task_);
  spec_.id = id;
  spec_.observation = read_observation_space(id, task_.attr("single_observation_space"));
  const py::object actions = task_.attr("single_action_space");
  spec_.action = read_action_space(id, actions);
  spec_.one_thread = spec_.steps_together = true;
  layout_ = ActionLayout(spec_.action, actions);
  actions_.resize(static_cast<size_t>(count_ * spec_.action.size()));
  obs_.resize(static_cast<size_t>(count_ * spec_.observation.size()));
  final_obs_ = obs_;
  results_.resize(static_cast<size_t>(count_));
  waiting_.resize(results_.size());
}

PythonVector::~PythonVector() {
  const py::gil_scoped_acquire gil;
  task_ = py::object();
}

void PythonVector::reset_all(int64_t seed) {
  seed_ = seed;
  steps_ = 0;
  lost_ = false;
  const py::tuple result = task_.attr("reset")(py::arg("seed") = seed);
  read_observation(spec_.id, result[0], obs_);
  std::fill(waiting_.begin(), waiting_.end(), uint8_t{0});
}

void PythonVector::reset_one(int64_t i) {
  py::array_t<bool> mask(count_);
  std::fill_n(mask.mutable_data(), count_, false);
  mask.mutable_data()[i] = true;
  py::dict options;
  options["reset_mask"] = mask;
  const py::tuple result = task_.attr("reset")(py::arg("options") = options);
  auto all = obs_;
  read_observation(spec_.id, result[0], all);
  const auto from = row(all, i);
  std::copy(from.begin(), from.end(), obs_.begin() + i * spec_.observation.size());
}

void PythonVector::begin_episode(int64_t i, int64_t seed) {
  if (seed_ < 0) {
    reset_all(seed);
  } else if (steps_ == 0) {
    return;  // reset_all() has just started the episodes of all members
  } else if (autoreset_ == Autoreset::next_step) {
    waiting_[static_cast<size_t>(i)] = 1;
  } else if (autoreset_ == Autoreset::disabled) {
    reset_one(i);
  }
}

void PythonVector::prepare(int64_t i, std::span<const double> action) {
  std::copy(action.begin(), action.end(), actions_.begin() + i * spec_.action.size());
}

StepResult PythonVector::step(int64_t i, std::span<double> obs) {
  if (i == 0) step_all();
  const auto& result = results_[static_cast<size_t>(i)];
  const bool moved_on =
      autoreset_ == Autoreset::same_step && (result.terminated || result.truncated);
  const auto from = row(moved_on ? final_obs_ : obs_, i);
  std::copy(from.begin(), from.end(), obs.begin());
  return result;
}

void PythonVector::step_all() {
  if (lost_) {
    Rng rng(static_cast<uint64_t>(seed_), "resumed/" + std::to_string(steps_));
    reset_all(static_cast<int64_t>(rng.next() >> 33));
    for (auto& result : results_) result = {.restarted = true};
    ++steps_;
    return;
  }
  const py::object results = task_.attr("step")(make_actions());
  if (!py::isinstance<py::tuple>(results) || py::len(results) != 5) {
    refuse(spec_.id, "step",
           "does not return five values (expected (observations, rewards, terminations, "
           "truncations, infos))");
  }
  take_results(py::reinterpret_borrow<py::tuple>(results));
  ++steps_;
}

void PythonVector::take_results(const py::tuple& results) {
  read_observation(spec_.id, results[0], obs_);
  const auto rewards = numbers(spec_.id, "rewards", results[1], count_);
  const auto terminated = numbers(spec_.id, "terminations", results[2], count_);
  const auto truncated = numbers(spec_.id, "truncations", results[3], count_);
  bool any_end = false;
  for (int64_t i = 0; i < count_; ++i) {
    auto& result = results_[static_cast<size_t>(i)];
    auto& waiting = waiting_[static_cast<size_t>(i)];
    result = waiting != 0 ? StepResult{.restarted = true}
                          : StepResult{.reward = rewards.data()[i],
                                       .terminated = terminated.data()[i] != 0,
                                       .truncated = truncated.data()[i] != 0};
    waiting = 0;
    any_end = any_end || result.terminated || result.truncated;
  }
  if (any_end && autoreset_ == Autoreset::same_step) {
    take_final_observations(py::dict(results[4]));
  }
}

// The key is final_obs in Gymnasium 1 and later, and final_observation in older versions.
void PythonVector::take_final_observations(const py::dict& info) {
  const char* key = info.contains("final_obs") ? "final_obs" : "final_observation";
  if (!info.contains(key)) {
    refuse(spec_.id, "step", "an episode ended and infos has no final_obs");
  }
  const py::object last = info[key];
  const auto width = static_cast<size_t>(spec_.observation.size());
  for (int64_t i = 0; i < count_; ++i) {
    const auto& result = results_[static_cast<size_t>(i)];
    if (!result.terminated && !result.truncated) continue;
    read_observation(spec_.id, last[py::int_(i)],
                     std::span(final_obs_).subspan(static_cast<size_t>(i) * width, width));
  }
}

py::object PythonVector::make_actions() const {
  std::vector<py::ssize_t> shape = {count_};
  shape.insert(shape.end(), layout_.shape.begin(), layout_.shape.end());
  const auto filled = [&](auto array) -> py::object {
    using T = std::remove_reference_t<decltype(*array.mutable_data())>;
    std::transform(actions_.begin(), actions_.end(), array.mutable_data(),
                   [](double value) { return static_cast<T>(value); });
    return array;
  };
  if (layout_.discrete) return filled(py::array_t<int64_t>(shape));
  return layout_.doubles ? filled(py::array_t<double>(shape)) : filled(py::array_t<float>(shape));
}

void PythonVector::visit_state(StateVisitor& state) {
  const int64_t seed_before = seed_, steps_before = steps_;
  state.scalar("seed", seed_, -1);
  state.scalar("steps", steps_);
  if ((seed_ == seed_before && steps_ == steps_before) || seed_ < 0) return;
  // A visitor either saves or loads. The values have changed, so this visitor has loaded a
  // checkpoint.
  lost_ = true;
  const std::string message = spec_.id +
                              ": the run resumes with new episodes, because episodes of a vector "
                              "of environments cannot be replayed";
  if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 1) != 0) throw py::error_already_set();
}

void PythonVectorMember::reset(Rng& rng, std::span<double> obs) {
  const auto seed = static_cast<int64_t>(rng.next() >> 33);
  const py::gil_scoped_acquire gil;
  vector_->begin_episode(i_, seed);
  observe(obs);
}

void PythonVectorMember::prepare(std::span<const double> action) { vector_->prepare(i_, action); }

StepResult PythonVectorMember::step(std::span<const double> /*action*/, std::span<double> obs) {
  const py::gil_scoped_acquire gil;
  return vector_->step(i_, obs);
}

void PythonVectorMember::observe(std::span<double> obs) const {
  const auto from = vector_->obs(i_);
  std::copy(from.begin(), from.end(), obs.begin());
}

std::vector<double> PythonVectorMember::state() const {
  refuse(spec_.id, "env", "an environment written in Python does not expose its internal state");
}

void PythonVectorMember::set_state(std::span<const double> /*state*/) { (void)state(); }

void PythonVectorMember::visit_state(StateVisitor& state) {
  if (i_ != 0) return;
  const py::gil_scoped_acquire gil;
  vector_->visit_state(state);
}

}  // namespace rl_training
