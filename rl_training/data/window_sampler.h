#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "rl_training/data/sampler.h"

namespace rl_training {

// Draws segments of episodes for sequence models. Each segment has `request.window` steps. A
// segment begins at a uniformly drawn row. Steps after the end of the episode are zero and have
// mask 0. `timestep` counts from the start of the episode.
class WindowSampler final : public Sampler {
 public:
  WindowSampler(std::shared_ptr<const TransitionDataset> dataset, ObsNormalizer normalizer,
                const BatchRequest& request, Rng rng);

  int64_t rows() const override { return dataset_->rows(); }
  void sample(const BatchView& batch) override;
  void visit_state(StateVisitor& state) override { state.part("rng", rng_); }

 private:
  std::shared_ptr<const TransitionDataset> dataset_;
  ObsNormalizer normalizer_;
  Rng rng_;
  std::vector<int64_t> first_rows_;
};

// Segments of episodes as plain arrays, for a dataset of float vectors. See WindowSampler, but the
// observations are not normalised. The returns-to-go are undiscounted.
struct TrajectoryWindows {
  int64_t count = 0, length = 0, obs_dim = 0, action_dim = 0;
  std::vector<int64_t> first_rows;                              // [count], rows of the dataset
  std::vector<float> obs;                                       // [count, length, obs_dim]
  std::vector<float> actions;                                   // [count, length, action_dim]
  std::vector<float> rewards, returns_to_go, terminated, mask;  // [count, length]
  // [count, length], counted from the start of the episode.
  std::vector<int64_t> timesteps;
};

// Draws `count` segments of `length` steps. Throws Error{data} if `length` or `count` is below 1,
// or if the dataset is empty or does not consist of float vectors.
TrajectoryWindows sample_trajectory_windows(const TransitionDataset& dataset, int64_t length,
                                            int64_t count, Rng& rng);

}  // namespace rl_training
