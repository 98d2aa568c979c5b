// Bindings for the lists of algorithms, options and environments.
#include "rl_training/envs/registry.h"

#include <pybind11/stl.h>

#include "python/src/convert.h"
#include "rl_training/experiment/train_config.h"

namespace rl_training {
namespace {

py::list rows_of(const std::vector<OptionRow>& options) {
  py::list rows;
  for (const auto& option : options) {
    rows.append(py::make_tuple(option.key, option.type, option.default_value, option.range,
                               option.meaning));
  }
  return rows;
}

py::list algorithm_table() {
  py::list list;
  for (const auto& info : algorithms()) {
    py::dict entry;
    entry["name"] = info.name;
    entry["title"] = info.title;
    entry["paper"] = info.paper;
    entry["discrete_actions"] = info.actions == ActionKind::choices;
    entry["image_observations"] = info.image_observations;
    entry["collects"] = default_config(info.name).collects_by_itself();
    entry["reads_data"] = default_config(info.name).has_dataset();
    entry["metrics"] = info.metrics;
    list.append(entry);
  }
  return list;
}

py::list algorithm_options(const std::string& name) {
  auto config = default_config(name);
  return rows_of(list_options([&](OptionVisitor& options) { config.visit_algo_kwargs(options); }));
}

py::list run_options() {
  TrainConfig config;
  return rows_of(list_options([&](OptionVisitor& options) { config.visit_top_options(options); }));
}

// Reads a packaged config by name, or a YAML file. The result contains every key.
py::object read_config_file(const std::string& file_or_name) {
  return to_python(write_train_config(read_train_config(load_config(file_or_name))));
}

py::list environment_ids() {
  py::list ids;
  for (const auto& info : environments()) {
    if (info.unavailable.empty()) ids.append(info.id);
  }
  return ids;
}

}  // namespace

void bind_registry(py::module_& module) {
  module.attr("pybind11_version") = py::make_tuple(PYBIND11_VERSION_MAJOR, PYBIND11_VERSION_MINOR);
  module.def("algorithm_table", algorithm_table);
  module.def("algorithm_options", algorithm_options);
  module.def("run_options", run_options);
  module.def("read_config_file", read_config_file);
  module.def("environment_ids", environment_ids);
}

}  // namespace rl_training
