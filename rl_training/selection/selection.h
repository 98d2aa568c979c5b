#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/experiment/trained_policy.h"
#include "rl_training/selection/fitted_q.h"
#include "rl_training/selection/importance.h"

namespace rl_training {

struct SelectionOptions {
  FittedQOptions fit;
  // If unset, the horizon 1 / (1 - gamma) is set to the mean episode length, which is averaged over
  // the rows of the data and clamped to the range from 100 to 500 steps.
  std::optional<double> gamma;
  // Updates of each part of the fit. If unset, 5 / (tau (1 - gamma)), so that values converge.
  std::optional<int64_t> updates;
  std::optional<std::string> data;  // a file; if unset, the first run's training data
  double held_out = 0.1;            // fraction of episodes reserved for the TD error
};

// Estimate of one policy. Values are estimates of the discounted return, in the data's reward
// units. `low` and `high` are the ends of the 95 % interval of `value`.
struct PolicyEstimate {
  std::string run;         // as given by the caller
  std::string checkpoint;  // directory of the checkpoint
  double value = 0;        // mean value at the starts of episodes
  double low = 0, high = 0;
  double rank = 0;      // from 1, largest value first
  double soft_opc = 0;  // mean Q(s, a) in the best quarter of episodes minus that in all episodes
  // Root mean square TD error on the held-out episodes; on the training episodes if there are none.
  double td_error = 0;
  // Importance-sampling estimates for the policy with its exploration noise. Unset if the policy
  // has no action density.
  std::optional<ImportanceEstimates> importance;
  std::optional<double> truth;  // mean undiscounted return in the environment
};

// Estimated discounted return of the behaviour policy, with a 95 % interval.
struct OwnEstimate {
  double value = 0, low = 0, high = 0;
};

// Ranks policies from data alone: fits their values and computes the estimates.
class Selection {
 public:
  // Throws Error if a run has no checkpoint, if spaces differ, or if a policy has memory or
  // observes images.
  Selection(const std::vector<std::string>& runs, const SelectionOptions& options, ThreadPool& pool,
            const std::function<void(const std::string&)>& warn);

  // Identifies the policies, the data and the options to which a saved state belongs.
  const std::string& key() const { return key_; }
  // Identifies the data.
  const std::string& fingerprint() const { return fingerprint_; }
  int64_t updates_done() const { return fit_->updates_done(); }
  int64_t updates() const { return fit_->updates_total(); }
  double share_done() const { return fit_->share_done(); }
  const FittedQOptions& fit_options() const { return options_.fit; }
  void advance() { fit_->update(); }
  bool finished() const { return updates_done() >= updates(); }

  // One estimate per run, in the order of `runs`.
  std::vector<PolicyEstimate> estimates();
  OwnEstimate own_estimate() const;
  // Throws Error{config} if a policy has no environment.
  void check_playable() const;
  // Plays episodes with the policy in its environment and returns the mean return.
  double play(size_t candidate, int64_t episodes);

  void visit_state(StateVisitor& state) { state.part("fit", *fit_); }

 private:
  struct Candidate {
    std::string run, checkpoint;
    std::unique_ptr<TrainedPolicy> policy;
  };
  void split(const TransitionDataset& all);
  void check_spaces() const;
  torch::Tensor act(size_t candidate, const torch::Tensor& obs, ActMode mode = ActMode::greedy);
  torch::Tensor normalised(size_t candidate, const torch::Tensor& obs) const;
  std::optional<ImportanceEstimates> importance(size_t candidate);

  SelectionOptions options_;
  std::vector<Candidate> candidates_;
  std::shared_ptr<const TransitionDataset> data_, held_out_;
  std::unique_ptr<FittedQ> fit_;
  std::string key_, fingerprint_;
};

// Number of other policies whose interval overlaps the interval of the best policy.
int64_t overlap_with_best(const std::vector<PolicyEstimate>& estimates);

}  // namespace rl_training
