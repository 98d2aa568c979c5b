#pragma once
#include <functional>

#include "rl_training/deploy/exported_policy.h"

namespace rl_training {

enum class ExportFormat { c, onnx };

struct Verification {
  std::string method;  // how the written file was computed
  int64_t observations = 0;
  // Those with another action than `predict`, equally good up to rounding.
  int64_t undecided = 0;
  double max_abs_error = 0;  // in the policy's units of an action
};

constexpr double kLargestExportError = 1e-5;

// Where a policy is compared, and what the dataset calls its columns; empty: unknown.
struct Probes {
  std::vector<std::vector<double>> obs;
  std::vector<std::string> observation_names, action_names;
};

// Observations of the run's dataset, spread over it, and random ones where it has too few or is not
// at hand (`note` says why).
Probes find_probes(TrainedPolicy& policy, int64_t count,
                   const std::function<void(const std::string&)>& note);

// Puts test vectors into `exported`, writes it and computes the written file at `obs` against
// `policy.predict`. `text` becomes what is to be written.
Verification write_and_verify(ExportFormat format, TrainedPolicy& policy,
                              const std::vector<std::vector<double>>& obs, ExportedPolicy& exported,
                              std::string& text);

}  // namespace rl_training
