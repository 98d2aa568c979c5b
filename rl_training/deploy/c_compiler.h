#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/deploy/exported_policy.h"

namespace rl_training {

// Uses `cc` to compile a header from `write_c_header`, runs its self-test and returns its actions
// at the given rows of observations. Returns no value if there is no `cc`. Throws Error{internal}
// on other failures.
std::optional<std::vector<std::vector<double>>> run_c_header(
    const ExportedPolicy& policy, const std::string& header,
    const std::vector<std::vector<double>>& obs);

}  // namespace rl_training
