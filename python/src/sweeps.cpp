// Bindings for the trials of sweeps.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "python/src/convert.h"
#include "rl_training/sweep/run_finder.h"
#include "rl_training/sweep/search.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

Search open_sweep(const std::string& file, const std::string& text) {
  return Search(file.empty() ? read_sweep_spec(ConfigNode::from_json(parse_arguments(text), ""))
                             : load_sweep_spec(file));
}

// Returns the next trial. `settings` is JSON, or "" for the next trial of the sweep's own search.
py::object ask(Search& search, const std::string& settings) {
  const auto asked = settings.empty()
                         ? search.ask()
                         : search.ask(ConfigNode::from_json(parse_arguments(settings), "").entries);
  if (!asked) return py::none();
  const auto& trial = search.trial(asked->trial);
  auto config = trial.config;
  config.output_dir =
      fmt::format("{}/trial-{:03}", absolute_path(search.spec().output_dir), trial.number);
  return to_python({{"number", trial.number},
                    {"label", trial.label()},
                    {"config", write_train_config(config)},
                    {"pause_at", asked->pause_at ? Json(*asked->pause_at) : Json()},
                    {"seeds", search.spec().seeds},
                    {"metric", search.spec().metric}});
}

// Returns the directory of the run with this config, or "" if there is none.
std::string run_of_config(const std::string& config) {
  return find_run(posix_file_system(),
                  read_train_config(ConfigNode::from_json(parse_arguments(config), "")));
}

}  // namespace

void bind_sweeps(py::module_& module) {
  py::class_<Search>(module, "Sweep")
      .def(py::init(&open_sweep))
      .def("ask", &ask)
      .def("tell", &Search::tell)
      .def("best", &Search::best)
      .def("directory", [](const Search& search) { return search.spec().output_dir; });
  module.def("find_run", &run_of_config);
}

}  // namespace rl_training
