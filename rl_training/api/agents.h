#pragma once
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
#include "rl_training/api/agent.h"

namespace rl_training {

// The class of one algorithm: an Agent that rejects configs and checkpoints of other algorithms.
template <class Options>
class AgentOf : public Agent {
 public:
  // Builds a config in code. `options` are the options of the algorithm; `config` contains all
  // other options. Derive `config` from default_config(Options::kName), because some defaults of
  // online phases depend on the algorithm.
  AgentOf(const std::string& env_id, const Options& options,
          TrainConfig config = default_config(Options::kName))
      : Agent(complete(env_id, options, std::move(config))) {}

  static AgentOf from_config(const std::string& file_or_name) {
    return AgentOf(Agent::from_config(file_or_name));
  }
  static AgentOf load(const std::string& run_or_checkpoint) {
    return AgentOf(Agent::load(run_or_checkpoint));
  }
  static AgentOf resume(const std::string& run_or_checkpoint, int64_t total_timesteps = 0) {
    return AgentOf(Agent::resume(run_or_checkpoint, total_timesteps));
  }

 private:
  explicit AgentOf(Agent&& agent) : Agent(std::move(agent)) { require_algorithm(Options::kName); }

  static TrainConfig complete(const std::string& env_id, const Options& options,
                              TrainConfig config) {
    config.algo = Options::kName;
    config.env_id = env_id;
    config.algorithm = std::make_shared<Options>(options);
    return config;
  }
};

using TD3BC = AgentOf<Td3BcOptions>;
using SAC = AgentOf<SacOptions>;
using TD3 = AgentOf<Td3Options>;
using DDPG = AgentOf<DdpgOptions>;
using REDQ = AgentOf<RedqOptions>;
using TQC = AgentOf<TqcOptions>;
using CrossQ = AgentOf<CrossqOptions>;
using DiscreteSAC = AgentOf<DiscreteSacOptions>;
using DiscreteBC = AgentOf<DiscreteBcOptions>;
using DiscreteBCQ = AgentOf<DiscreteBcqOptions>;
using DiscreteCQL = AgentOf<DiscreteCqlOptions>;
using DQN = AgentOf<DqnOptions>;
using PPO = AgentOf<PpoOptions>;
using TRPO = AgentOf<TrpoOptions>;
using DrQv2 = AgentOf<DrqV2Options>;
using RLPD = AgentOf<RlpdOptions>;
using BCQ = AgentOf<BcqOptions>;
using BEAR = AgentOf<BearOptions>;
using ReBRAC = AgentOf<RebracOptions>;
using CQL = AgentOf<CqlOptions>;
using IQL = AgentOf<IqlOptions>;
using AWAC = AgentOf<AwacOptions>;
using CRR = AgentOf<CrrOptions>;
using BC = AgentOf<BcOptions>;
using DT = AgentOf<DecisionTransformerOptions>;
using SACN = AgentOf<SacNOptions>;
using EDAC = AgentOf<EdacOptions>;
using XQL = AgentOf<XqlOptions>;
using CalQL = AgentOf<CalQlOptions>;
using FQL = AgentOf<FqlOptions>;
using TD7 = AgentOf<Td7Options>;

}  // namespace rl_training
