#pragma once
#include "rl_training/algorithms/td3.h"

namespace rl_training {

struct DdpgOptions : AlgorithmOptions {
  static constexpr const char* kName = "ddpg";
  double exploration_noise = 0.1;
  CollectOptions environment;

  CollectOptions* collect() override { return &environment; }
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override {
    return replay_phases(environment, total_timesteps);
  }
  void visit_options(OptionVisitor& options) override;
};

// DDPG (arXiv:1509.02971): TD3 with one critic, an actor that is updated as often as the critic,
// and a target policy without noise.
class Ddpg final : public Td3 {
 public:
  Ddpg(const DdpgOptions& options, const AlgorithmContext& context);
};

AlgorithmInfoOf<Ddpg, DdpgOptions> ddpg_info();

}  // namespace rl_training
