#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "rl_training/data/normalizer.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/rng.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Row-major buffers that a sampler fills; a null one is not wanted.
struct BatchView {
  int64_t rows = 0;
  float *obs = nullptr, *actions = nullptr, *rewards = nullptr, *next_obs = nullptr,
        *terminated = nullptr;
  float *next_actions = nullptr, *next_action_valid = nullptr, *mc_returns = nullptr;
  int64_t obs_dim = 0, action_dim = 0;  // widths, for `part`

  // `count` rows from `first_row` on.
  BatchView part(int64_t first_row, int64_t count) const;
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  // How many rows it draws from; 0: nothing is there yet.
  virtual int64_t rows() const = 0;
  virtual bool ready() const { return rows() > 0; }
  virtual void sample(const BatchView& batch) = 0;
  virtual void visit_state(StateVisitor& state) = 0;
};

// Rows drawn uniformly with replacement; observations are normalised on the way.
class UniformSampler final : public Sampler {
 public:
  UniformSampler(std::shared_ptr<const TransitionDataset> dataset, ObsNormalizer normalizer,
                 Rng rng);

  int64_t rows() const override { return dataset_->rows(); }
  void sample(const BatchView& batch) override;
  // The random stream. The dataset and its normaliser are given anew when a run goes on.
  void visit_state(StateVisitor& state) override;

 private:
  void prefetch_and_gather(const BatchView& batch) const;
  void gather_row(const BatchView& batch, int64_t i) const;

  std::shared_ptr<const TransitionDataset> dataset_;
  ObsNormalizer normalizer_;
  Rng rng_;
  std::vector<int64_t> indices_;
};

}  // namespace rl_training
