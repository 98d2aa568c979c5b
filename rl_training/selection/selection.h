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
  // None: the horizon 1 / (1 - gamma) is the length of the episode that a row of the data is in, on
  // average, and 100 to 500 steps.
  std::optional<double> gamma;
  std::optional<std::string> data;  // a file; none: what the first run was trained on
  double held_out = 0.1;            // share of the episodes that the TD error is computed on
};

// What the data say about one policy. Values are discounted sums of the data's own rewards.
struct PolicyEstimate {
  std::string run;         // as it was given
  std::string checkpoint;  // the directory that was read
  double value = 0;        // mean over the starts of episodes
  double low = 0, high = 0;
  double rank = 0;      // from 1, largest value first
  double soft_opc = 0;  // mean Q(s, a) of the best quarter of episodes less that of all
  double td_error = 0;  // root of the mean square, on held-out episodes
  // Of the policy that draws its actions; none if it has no density.
  std::optional<ImportanceEstimates> importance;
  std::optional<double> truth;  // mean return in the environment
};

// The discounted return of the data's own policy.
struct OwnEstimate {
  double value = 0, low = 0, high = 0;
};

// Ranks policies without an environment: the fits, and what is read from them.
class Selection {
 public:
  // Error where a run has no checkpoint, spaces differ, or a policy remembers its episode.
  Selection(const std::vector<std::string>& runs, const SelectionOptions& options, ThreadPool& pool,
            const std::function<void(const std::string&)>& warn);

  // Names the policies, the data and the options: what a state belongs to.
  const std::string& key() const { return key_; }
  const std::string& fingerprint() const { return fingerprint_; }
  int64_t updates_done() const { return fit_->updates_done(); }
  int64_t updates() const { return fit_->updates_total(); }
  double share_done() const { return fit_->share_done(); }
  const FittedQOptions& fit_options() const { return options_.fit; }
  void advance() { fit_->update(); }
  bool finished() const { return updates_done() >= updates(); }

  // In the order in which the runs were given.
  std::vector<PolicyEstimate> estimates();
  OwnEstimate own_estimate() const;
  // Error{config} if a policy has no environment to play in.
  void check_playable() const;
  // The mean return of episodes that the policy plays.
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

// How many policies other than the best have an interval that reaches into its own.
int64_t overlap_with_best(const std::vector<PolicyEstimate>& estimates);

}  // namespace rl_training
