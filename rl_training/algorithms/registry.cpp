#include "rl_training/algorithms/registry.h"

#include "rl_training/algorithms/cql.h"
#include "rl_training/algorithms/rebrac.h"
#include "rl_training/algorithms/td3_bc.h"
#include "rl_training/util/text.h"

namespace rl_training {

const std::vector<AlgorithmInfo>& algorithms() {
  static const std::vector<AlgorithmInfo> table = {
      td3_bc_info(),
      rebrac_info(),
      cql_info(),
  };
  return table;
}

const AlgorithmInfo& find_algorithm(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& info : algorithms()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  throw Error(ErrorKind::config, {"", 0, "algo"},
              "unknown algorithm (expected " + join(names, " | ") + ", got " + name +
                  did_you_mean(name, names) + ")");
}

}  // namespace rl_training
