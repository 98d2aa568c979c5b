#pragma once
#include <functional>

#include "rl_training/deploy/exported_policy.h"

namespace rl_training {

enum class ExportFormat { c, onnx };

struct Verification {
  std::string method;  // how the exported file was evaluated
  int64_t observations = 0;
  // Number of observations for which the action differs from that of `predict` but is equally good
  // up to rounding.
  int64_t undecided = 0;
  double max_abs_error = 0;  // in units of ExportedPolicy::action_unit
};

constexpr double kLargestExportError = 1e-5;

// Observations at which the exported policy is compared with `predict`, and the names of the
// dataset's observation and action columns. The names are empty if unknown.
struct Probes {
  std::vector<std::vector<double>> obs;
  std::vector<std::string> observation_names, action_names;
};

// Returns observations spread over the run's dataset. Adds random observations if the dataset has
// too few rows. If the run has no dataset or its dataset cannot be loaded, all observations are
// random. If the dataset cannot be loaded, `note` receives the reason.
Probes find_probes(TrainedPolicy& policy, int64_t count,
                   const std::function<void(const std::string&)>& note);

// Adds test vectors to `exported`, generates the text of the file, evaluates the file at `obs` and
// compares the results with `policy.predict`. `text` receives the generated text.
Verification write_and_verify(ExportFormat format, TrainedPolicy& policy,
                              const std::vector<std::vector<double>>& obs, ExportedPolicy& exported,
                              std::string& text);

}  // namespace rl_training
