#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rl_training/data/batch_request.h"
#include "rl_training/data/normalizer.h"
#include "rl_training/data/row_priorities.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/rng.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Fills batches. Each sampler is made for one request and refuses, when it is made, what it cannot
// deliver: Error{config or data} that names the column or key.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // How many rows it draws from; 0: nothing is there yet.
  virtual int64_t rows() const = 0;
  virtual bool ready() const { return rows() > 0; }
  virtual void sample(const BatchView& batch) = 0;
  // Of the rows of the latest batch, where the request asks for priorities.
  virtual void set_priorities(std::span<const float> /*priorities*/) {}
  virtual void visit_state(StateVisitor& state) = 0;
};

// Error{config} naming the first requested column that is not in `offered`, and windows where
// `source` has none.
void check_columns(const BatchRequest& request, std::initializer_list<BatchColumn> offered,
                   const char* source);

// Transitions drawn uniformly with replacement, or by their priorities; observations are normalised
// on the way.
class UniformSampler final : public Sampler {
 public:
  UniformSampler(std::shared_ptr<const TransitionDataset> dataset, ObsNormalizer normalizer,
                 BatchRequest request, Rng rng);

  int64_t rows() const override { return dataset_->rows(); }
  void sample(const BatchView& batch) override;
  void set_priorities(std::span<const float> priorities) override {
    priorities_->update(indices_, priorities);
  }
  // The random stream and priorities. The dataset and its normaliser are given again when a run is
  // resumed.
  void visit_state(StateVisitor& state) override;

 private:
  void read_ahead(int64_t rows);
  void prefetch_and_gather(const BatchView& batch) const;
  void gather_row(const BatchView& batch, int64_t i) const;

  std::shared_ptr<const TransitionDataset> dataset_;
  ObsNormalizer normalizer_;
  BatchRequest request_;
  float gamma_;
  bool reads_ahead_;  // rows may be on disk
  Rng rng_;
  std::optional<RowPriorities> priorities_;
  std::vector<int64_t> indices_, later_indices_;
};

}  // namespace rl_training
