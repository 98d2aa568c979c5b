#pragma once
#include <torch/types.h>

#include <memory>
#include <vector>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/mlp.h"
#include "rl_training/selection/behavior.h"

namespace rl_training {

// Fitted Q evaluation in the form of FQE-L2 of Deep OPE (arXiv:2103.16596): estimates the value of
// a fixed policy from data.

// y = clip(r + discount mean_i Q'_i(s', pi(s')), low, high), without gradient.
// Shapes: [rows], [rows], [critics, rows] -> [rows].
torch::Tensor fitted_q_target(const torch::Tensor& rewards, const torch::Tensor& discount,
                              const torch::Tensor& next_values, double low, double high);
// L = sum over critics of the mean over rows of (Q - y)^2. Both tensors are [critics, rows].
torch::Tensor fitted_q_loss(const torch::Tensor& values, const torch::Tensor& targets);

struct FittedQOptions {
  int64_t updates = 10000;  // in each of the two parts of FittedQ
  int64_t batch_size = 256;
  int64_t critics = 3;  // per candidate; a target uses their mean
  std::vector<int64_t> hidden_sizes = {256, 256};
  double learning_rate = 3e-4;
  double weight_decay = 1e-5;
  double gamma = 0.99;
  double tau = 0.05;
  uint64_t seed = 0;
};

// Fits the values of all candidate policies, in two parts. The first part fits the values of the
// behaviour policy and is shared by all candidates. The next actions of the behaviour policy are in
// the data, so this part evaluates critics only at actions from the data. The second part continues
// the fit for each candidate with the candidate's own next actions. For comparison, it also
// continues the fit of the behaviour policy.
//
// All candidates use the same batches and initial critics, so their estimates differ only because
// their policies differ. An estimate does not depend on the other candidates. The critics of all
// candidates are one ensemble with members [candidate][critic].
class FittedQ {
 public:
  // `next_actions` contains one tensor per candidate: its actions at the next observation of every
  // row. Continuous actions are float32 [rows, action_dim], scaled to [-1, 1]; discrete actions are
  // int64 [rows].
  FittedQ(const TransitionDataset& data, std::vector<torch::Tensor> next_actions,
          const FittedQOptions& options, const Compute& compute);

  void update();
  int64_t updates_done() const { return updates_; }
  int64_t updates_total() const { return 2 * options_.updates; }
  // Completed fraction of the work. An update of the second part has a larger weight, because it
  // also updates the critics of every candidate.
  double share_done() const;
  int64_t candidates() const { return static_cast<int64_t>(candidates_.next_actions.size()); }

  // Values of the target critics at raw observations, in the data's reward units: [critics, rows].
  torch::Tensor values(int64_t candidate, const torch::Tensor& obs,
                       const torch::Tensor& actions) const;
  // Like `values`, but for the behaviour policy.
  torch::Tensor own_values(const torch::Tensor& obs, const torch::Tensor& actions) const;
  // The mean squared TD error of a candidate on the given data, in squared reward units.
  double td_error(int64_t candidate, const TransitionDataset& data,
                  const torch::Tensor& next_actions) const;

  // Log density of the actions under the behaviour model, at raw observations: [rows]. The model is
  // fitted on the same batches as the critics.
  torch::Tensor behavior_log_density(const torch::Tensor& obs, const torch::Tensor& actions) const {
    return behavior_.log_density(normalised(obs), actions);
  }

  void visit_state(StateVisitor& state);

 private:
  // The critics of one or more policies. The ensemble members of each network are ordered
  // [policy][critic].
  struct Critics {
    std::unique_ptr<Mlp> online, target;
    std::unique_ptr<Adam> optimizer;
    std::vector<torch::Tensor> next_actions;  // next actions of each policy
    void visit_state(StateVisitor& state);
  };
  Critics make_critics(const TransitionDataset& data, std::vector<torch::Tensor> next_actions,
                       const Compute& compute) const;
  void read_rewards(const TransitionDataset& data);
  struct Batch {
    torch::Tensor obs, next_obs, actions, rewards, discount;
  };
  void fit(Critics& critics, const Batch& batch);
  void start_candidates();
  torch::Tensor normalised(const torch::Tensor& obs) const;
  // Values of the policy's target critics, in scaled reward units: [critics, rows].
  torch::Tensor target_values(const Critics& critics, int64_t policy, const torch::Tensor& obs,
                              const torch::Tensor& actions) const;
  torch::Tensor values(const Critics& critics, int64_t policy, const torch::Tensor& obs,
                       const torch::Tensor& actions) const;
  torch::Tensor chosen(const torch::Tensor& outputs, const torch::Tensor& actions) const;

  FittedQOptions options_;
  bool discrete_;
  Rng rng_;
  // The data. Observations are normalised by mean and standard deviation. The standard deviation is
  // at least 1e-5.
  torch::Tensor mean_, std_;
  torch::Tensor obs_, next_obs_, actions_, rewards_, discount_;
  double reward_shift_ = 0, reward_scale_ = 1;  // r' = (r - shift) / scale
  double low_ = 0, high_ = 0;                   // bounds of values, in scaled reward units
  Critics own_, candidates_;
  BehaviorModel behavior_;
  int64_t updates_ = 0;
  torch::Tensor indices_;
};

// Columns of a dataset as tensors: raw observations [rows, obs_dim] and actions.
torch::Tensor observations_of(const TransitionDataset& data);
torch::Tensor next_observations_of(const TransitionDataset& data);
torch::Tensor actions_of(const TransitionDataset& data);
// For each row, the action of the next row of its episode. For the last row of an episode, the
// result is the row's own action.
torch::Tensor next_actions_of(const TransitionDataset& data);

}  // namespace rl_training
