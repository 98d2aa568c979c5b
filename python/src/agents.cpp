// Training, acting and saving from Python. The GIL is released while the library computes.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "python/src/convert.h"
#include "python/src/stop_requests.h"
#include "rl_training/api/agent.h"
#include "rl_training/deploy/policy_file.h"
#include "rl_training/runtime/signal_shield.h"
#include "rl_training/util/blocked_signals.h"

namespace rl_training {
namespace {

using Warn = Agent::Warn;

TrainConfig read_config(const std::string& text, std::shared_ptr<MemoryArrays> arrays) {
  auto config = read_train_config(ConfigNode::from_json(parse_arguments(text), ""));
  config.dataset.source.arrays = std::move(arrays);
  return config;
}

ResumeChanges changes_of(std::optional<int64_t> total_timesteps,
                         std::shared_ptr<MemoryArrays> arrays,
                         const std::optional<std::string>& output_dir,
                         std::optional<int64_t> online_timesteps) {
  ResumeChanges changes;
  changes.total_timesteps = total_timesteps;
  changes.arrays = std::move(arrays);
  changes.output_dir = output_dir;
  changes.online_timesteps = online_timesteps;
  return changes;
}

// Calls `on_row(position, length, row)` for each row of metrics, unless on_row is None. Training
// continues if on_row returns None or a true value.
py::object learn(Agent& agent, PythonStopRequests& requests, const py::object& on_row) {
  Callbacks callbacks;
  if (!on_row.is_none()) {
    callbacks.on_row = [&](const TrainProgress& progress, const Json& row) {
      const py::gil_scoped_acquire gil;
      try {
        const py::object answer = on_row(progress.position, progress.length, to_python(row));
        return answer.is_none() || PyObject_IsTrue(answer.ptr()) == 1;
      } catch (const py::error_already_set&) {
        requests.keep(std::current_exception());
        return false;
      }
    };
  }
  RunResult result;
  {
    const py::gil_scoped_release release;
    result = agent.learn(callbacks, &requests);
  }
  requests.rethrow();
  const auto& summary = result.summary;
  return to_python({{"run_dir", result.run_dir},
                    {"checkpoint", result.checkpoint},
                    {"update_count", summary.update_count},
                    {"global_step", summary.global_step},
                    {"stop_reason", summary.stop_reason},
                    {"metrics", summary.metrics}});
}

py::object evaluate(Agent& agent, PythonStopRequests& requests, int64_t episodes, uint64_t seed,
                    const std::string& env_id, const std::string& env_options) {
  EvaluationResult result;
  std::optional<EnvOptions> options;
  if (!env_options.empty()) options = read_env_options(env_id, env_options);
  {
    const py::gil_scoped_release release;
    result = agent.evaluate(episodes, seed,
                            {.env_id = env_id, .requests = &requests, .options = options});
  }
  requests.rethrow();
  if (result.cut_short) return py::none();
  Json facts = {{"episodes", episodes},
                {"return_mean", result.return_mean},
                {"return_std", result.return_std},
                {"length_mean", result.length_mean},
                {"returns", result.returns},
                {"lengths", result.lengths}};
  facts["normalized_score"] = result.normalized_score ? Json(*result.normalized_score) : Json();
  facts["success_rate"] = result.success_rate ? Json(*result.success_rate) : Json();
  return to_python(facts);
}

// Maps observations [rows, obs] to actions [rows, action], or to [rows] if actions are discrete.
py::array predict(Agent& agent,
                  const py::array_t<double, py::array::c_style | py::array::forcecast>& obs) {
  if (obs.ndim() != 2) throw Error(ErrorKind::data, {"", 0, "obs"}, "not a matrix of rows");
  const auto rows = static_cast<size_t>(obs.shape(0)), width = static_cast<size_t>(obs.shape(1));
  std::vector<std::vector<double>> input(rows), actions;
  for (size_t row = 0; row < rows; ++row) {
    const double* first = obs.data() + row * width;
    input[row].assign(first, first + width);
  }
  {
    const py::gil_scoped_release release;
    const BlockedSignals blocked;  // signals can wait, because a prediction is short
    actions = agent.policy().predict(input);
  }
  const auto& space = agent.policy().env().action;
  const auto count = static_cast<py::ssize_t>(rows);
  if (space.is_discrete()) {
    py::array_t<int64_t> choices(count);
    for (size_t row = 0; row < rows; ++row) {
      choices.mutable_data()[row] = static_cast<int64_t>(actions[row][0]);
    }
    return choices;
  }
  py::array_t<float> values({count, static_cast<py::ssize_t>(space.size())});
  float* target = values.mutable_data();
  for (const auto& action : actions) {
    for (const double value : action) *target++ = static_cast<float>(value);
  }
  return values;
}

py::object export_policy_file(Agent& agent, const std::string& file, const std::string& format,
                              const std::string& name, const Warn& note) {
  PolicyFileOptions options;
  options.format = read_export_format(format, "format");
  options.name = name;
  options.file = file;
  options.note = note;
  PolicyFile written;
  {
    const py::gil_scoped_release release;
    const SignalShield shield;
    auto& policy = agent.policy();
    options.checkpoint = policy.checkpoint();
    written = write_policy_file(policy, options);
  }
  return to_python({{"file", file},
                    {"format", format},
                    {"bytes", written.bytes},
                    {"max_abs_error", json_number(written.verified.max_abs_error)},
                    {"verified", written.verified.method}});
}

}  // namespace

void bind_agents(py::module_& module) {
  using Arrays = std::shared_ptr<MemoryArrays>;
  const auto free_gil = py::call_guard<py::gil_scoped_release>();
  py::class_<PythonStopRequests>(module, "StopRequests")
      .def(py::init<>())
      .def("request_stop", &StopRequests::request_stop)
      .def("requested", [](const PythonStopRequests& self) { return self.StopRequests::stop(); });
  py::class_<Agent>(module, "Agent")
      .def(py::init([](const std::string& config, Arrays arrays, const Warn& warn) {
             return std::make_unique<Agent>(read_config(config, std::move(arrays)), warn);
           }),
           free_gil)
      .def_static(
          "load",
          [](const std::string& path, Arrays arrays, const Warn& warn) {
            return std::make_unique<Agent>(
                Agent::load(path, changes_of({}, std::move(arrays), {}, {}), warn));
          },
          free_gil)
      .def_static(
          "resume",
          [](const std::string& path, std::optional<int64_t> total_timesteps, Arrays arrays,
             const std::optional<std::string>& output_dir, std::optional<int64_t> online_timesteps,
             const Warn& warn) {
            return std::make_unique<Agent>(Agent::resume(
                path, changes_of(total_timesteps, std::move(arrays), output_dir, online_timesteps),
                warn));
          },
          free_gil)
      .def("set_total_timesteps", &Agent::set_total_timesteps, free_gil)
      .def("learn", &learn)
      .def("evaluate", &evaluate)
      .def("predict", &predict)
      .def("save", &Agent::save, free_gil)
      .def("close", &Agent::close, free_gil)
      .def("run_dir", &Agent::run_dir)
      .def("algo", [](const Agent& self) { return self.config().algo; })
      .def("env_id", [](const Agent& self) { return self.config().env_id; })
      .def("obs_shape", [](Agent& self) { return self.policy().env().observation.shape; })
      .def("config", [](const Agent& self) { return to_python(write_train_config(self.config())); })
      .def("export", &export_policy_file);
}

}  // namespace rl_training
