// Bindings for comparing runs: rankings on logged data, and reports.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "python/src/convert.h"
#include "python/src/stop_requests.h"
#include "rl_training/report/groups.h"
#include "rl_training/report/html.h"
#include "rl_training/report/tables.h"
#include "rl_training/runtime/signal_shield.h"
#include "rl_training/selection/selection.h"
#include "rl_training/selection/selection_files.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

using Runs = std::vector<std::string>;
using Note = std::function<void(const std::string&)>;

SelectionOptions selection_options(const std::string& text) {
  SelectionOptions options;
  const auto map = ConfigNode::from_json(parse_arguments(text), "");
  OptionReader reader(map, "");
  auto seed = static_cast<int64_t>(options.fit.seed);
  std::string data;
  reader.integer("updates", options.updates, at_least(1), "");
  reader.integer("batch_size", options.fit.batch_size, between(1, 65536), "");
  reader.integer("critics", options.fit.critics, between(1, 100), "");
  reader.integers("hidden_sizes", options.fit.hidden_sizes, between(1, 1 << 14), "");
  reader.number("gamma", options.gamma, {.low = 0.0, .high = 1.0, .high_open = true}, "");
  reader.number("tau", options.fit.tau, above_up_to(0, 1), "");
  reader.integer("seed", seed, at_least(0), "");
  reader.text("data", data, "");
  reader.finish();
  options.fit.seed = static_cast<uint64_t>(seed);
  if (!data.empty()) options.data = data;
  return options;
}

// Returns None if a stop request interrupted the ranking.
py::object select(PythonStopRequests& requests, const Runs& runs, const std::string& text,
                  const Note& warn) {
  const auto options = selection_options(text);
  std::optional<Json> ranking;
  {
    const py::gil_scoped_release release;
    const SignalShield shield;
    const SingleThreadedTensors serial;
    ThreadPool pool(available_cores());
    Selection selection(runs, options, pool, warn);
    while (!selection.finished() && requests.stop() == 0) selection.advance();
    if (selection.finished()) ranking = selection_json(selection.estimates(), selection);
  }
  requests.rethrow();
  return ranking ? to_python(*ranking) : py::none();
}

py::object report(const Runs& paths, const std::string& output, const Note& warn) {
  Json json;
  {
    const py::gil_scoped_release release;
    auto& files = posix_file_system();
    const auto made = make_report(read_runs(files, paths, warn), {});
    if (!output.empty()) write_file_atomically(files, output, report_html(made, {}));
    json = report_json(made);
  }
  return to_python(json);
}

}  // namespace

void bind_analysis(py::module_& module) {
  module.def("select", &select);
  module.def("report", &report);
}

}  // namespace rl_training
