#pragma once
#include "rl_training/algorithms/td3.h"

namespace rl_training {

struct DdpgOptions : Td3Options {
  static constexpr const char* kName = "ddpg";

  DdpgOptions();
  void visit_options(OptionVisitor& options) override;
};

// DDPG (arXiv:1509.02971): TD3 with one critic, without delay and without smoothing.
class Ddpg final : public Td3 {
 public:
  Ddpg(const DdpgOptions& options, const AlgorithmContext& context) : Td3(options, context) {}
};

Loss ddpg_loss(const Td3Networks& networks, const Batch& batch, const DdpgOptions& options);

AlgorithmInfo ddpg_info();

}  // namespace rl_training
