#include "python/src/convert.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The compiled part of rl_training; use the package.";
  rl_training::bind_errors(module);
  rl_training::bind_registry(module);
  rl_training::bind_datasets(module);
  rl_training::bind_environments(module);
  rl_training::bind_agents(module);
  rl_training::bind_analysis(module);
  rl_training::bind_sweeps(module);
}
