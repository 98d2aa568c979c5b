#include "rl_training/algorithms/registry.h"

#include <map>
#include <tuple>

#include "rl_training/algorithms/awac.h"
#include "rl_training/algorithms/bc.h"
#include "rl_training/algorithms/bcq.h"
#include "rl_training/algorithms/bear.h"
#include "rl_training/algorithms/cal_ql.h"
#include "rl_training/algorithms/cql.h"
#include "rl_training/algorithms/crossq.h"
#include "rl_training/algorithms/crr.h"
#include "rl_training/algorithms/ddpg.h"
#include "rl_training/algorithms/decision_transformer.h"
#include "rl_training/algorithms/discrete_bc.h"
#include "rl_training/algorithms/discrete_bcq.h"
#include "rl_training/algorithms/discrete_cql.h"
#include "rl_training/algorithms/discrete_sac.h"
#include "rl_training/algorithms/dqn.h"
#include "rl_training/algorithms/drq_v2.h"
#include "rl_training/algorithms/edac.h"
#include "rl_training/algorithms/fql.h"
#include "rl_training/algorithms/iql.h"
#include "rl_training/algorithms/ppo.h"
#include "rl_training/algorithms/rebrac.h"
#include "rl_training/algorithms/redq.h"
#include "rl_training/algorithms/rlpd.h"
#include "rl_training/algorithms/sac.h"
#include "rl_training/algorithms/sac_n.h"
#include "rl_training/algorithms/td3.h"
#include "rl_training/algorithms/td3_bc.h"
#include "rl_training/algorithms/td7.h"
#include "rl_training/algorithms/tqc.h"
#include "rl_training/algorithms/trpo.h"
#include "rl_training/algorithms/xql.h"
#include "rl_training/util/text.h"

namespace rl_training {

namespace {

// Each function refers to the class of its algorithm through its return type. Only `make_algorithm`
// and `register_algorithm` need the class itself, so a program that calls neither function does not
// link the class.
constexpr auto kTable = std::make_tuple(
    // Algorithms that learn from data.
    td3_bc_info, rebrac_info, crr_info, bcq_info, bear_info, bc_info, awac_info, iql_info, cql_info,
    decision_transformer_info, sac_n_info, edac_info, xql_info, cal_ql_info, fql_info, td7_info,
    discrete_bc_info, discrete_bcq_info, discrete_cql_info,
    // Algorithms that learn from data and the environment.
    rlpd_info,
    // Algorithms that learn from the environment.
    sac_info, td3_info, ddpg_info, redq_info, tqc_info, crossq_info, discrete_sac_info, dqn_info,
    ppo_info, trpo_info, drq_v2_info);

std::vector<AlgorithmInfo>& algorithm_table() {
  static std::vector<AlgorithmInfo> table =
      std::apply([](auto... info) { return std::vector<AlgorithmInfo>{info()...}; }, kTable);
  return table;
}

template <class Class, class Options>
std::pair<const std::string, AlgorithmMaker> maker_of(AlgorithmInfoOf<Class, Options> (*)()) {
  return {Options::kName, make_from_options<Class, Options>};
}

std::map<std::string, AlgorithmMaker>& maker_table() {
  static auto table = std::apply(
      [](auto... info) { return std::map<std::string, AlgorithmMaker>{maker_of(info)...}; },
      kTable);
  return table;
}

}  // namespace

const std::vector<AlgorithmInfo>& algorithms() { return algorithm_table(); }

void register_algorithm(AlgorithmInfo info, AlgorithmMaker make) {
  for (const auto& known : algorithms()) {
    if (known.name != info.name) continue;
    throw Error(ErrorKind::config, {"", 0, "algo"},
                "an algorithm of this name is registered already (got `" + info.name + "`)");
  }
  maker_table().emplace(info.name, make);
  algorithm_table().push_back(std::move(info));
}

std::unique_ptr<Algorithm> make_algorithm(const std::string& name, const AlgorithmOptions& options,
                                          const AlgorithmContext& context) {
  return maker_table().at(find_algorithm(name).name)(options, context);
}

bool fits(const AlgorithmInfo& info, const Space& obs, const Space& action) {
  const auto other = action.is_discrete() ? ActionKind::vectors : ActionKind::choices;
  return info.actions != other && info.image_observations == obs.is_image();
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
