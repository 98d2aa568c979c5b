#pragma once
#include <torch/types.h>

#include "rl_training/data/sampler.h"

namespace rl_training {

// What one gradient update sees. Actions are scaled to [-1, 1]; `terminated` is 1 only where the
// task itself ended, so it alone cuts the bootstrap. Time-outs do not appear here.
struct Batch {
  torch::Tensor obs;         // [rows, obs_dim]
  torch::Tensor actions;     // [rows, action_dim]
  torch::Tensor rewards;     // [rows]
  torch::Tensor next_obs;    // [rows, obs_dim]
  torch::Tensor terminated;  // [rows], 0 or 1

  // Only where the algorithm asked for them.
  torch::Tensor next_actions;       // [rows, action_dim]
  torch::Tensor next_action_valid;  // [rows], 0 or 1
  torch::Tensor mc_returns;         // [rows], discounted return to the end of the episode

  static Batch allocate(int64_t rows, int64_t obs_dim, int64_t action_dim, bool next_actions,
                        bool mc_returns = false) {
    Batch batch;
    batch.obs = torch::zeros({rows, obs_dim});
    batch.actions = torch::zeros({rows, action_dim});
    batch.rewards = torch::zeros({rows});
    batch.next_obs = torch::zeros({rows, obs_dim});
    batch.terminated = torch::zeros({rows});
    if (next_actions) {
      batch.next_actions = torch::zeros({rows, action_dim});
      batch.next_action_valid = torch::zeros({rows});
    }
    if (mc_returns) batch.mc_returns = torch::zeros({rows});
    return batch;
  }

  // The CPU memory behind the tensors, for a sampler to fill.
  BatchView view() const {
    BatchView view{};
    view.rows = obs.size(0);
    view.obs_dim = obs.size(1);
    view.action_dim = actions.size(1);
    view.obs = obs.data_ptr<float>();
    view.actions = actions.data_ptr<float>();
    view.rewards = rewards.data_ptr<float>();
    view.next_obs = next_obs.data_ptr<float>();
    view.terminated = terminated.data_ptr<float>();
    if (next_actions.defined()) {
      view.next_actions = next_actions.data_ptr<float>();
      view.next_action_valid = next_action_valid.data_ptr<float>();
    }
    if (mc_returns.defined()) view.mc_returns = mc_returns.data_ptr<float>();
    return view;
  }
};

}  // namespace rl_training
