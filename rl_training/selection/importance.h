#pragma once
#include <vector>

namespace rl_training {

// Importance sampling estimates the return of one policy from episodes of another policy. Both
// policies must have densities. This struct contains the values of one step.
struct WeightedStep {
  double log_ratio = 0;  // log pi(a | s) - log b(a | s)
  double reward = 0;
  double q = 0, v = 0;  // a model's Q(s, a) and V(s), for the doubly robust estimate
};
using WeightedEpisode = std::vector<WeightedStep>;

// Estimates of the discounted return, as means over episodes. The weight w_t of an episode is the
// product of its ratios pi(a | s) / b(a | s) up to step t. T is the last step of the episode, and
// w_{-1} is 1.
struct ImportanceEstimates {
  double trajectory = 0;             // mean of w_T sum gamma^t r_t
  double weighted_trajectory = 0;    // `trajectory` divided by the mean weight
  double per_decision = 0;           // mean of sum gamma^t w_t r_t
  double weighted_per_decision = 0;  // `per_decision` with w_t divided by its mean over episodes
  double doubly_robust = 0;          // mean of sum gamma^t (w_t (r_t - Q_t) + w_{t-1} V_t)
  double effective_episodes = 0;     // (sum w_T)^2 / sum w_T^2
};

// Estimates with fewer effective episodes than this are not usable.
constexpr double kUsableEpisodes = 10;

// When the weights of a step are averaged over episodes, an episode that has already ended
// contributes its last weight.
ImportanceEstimates importance_estimates(const std::vector<WeightedEpisode>& episodes,
                                         double gamma);

}  // namespace rl_training
