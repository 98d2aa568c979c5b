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
#include "rl_training/util/thread_pool.h"

namespace rl_training {

// Fills batches. Each sampler is created for one request. The constructor throws Error{config} or
// Error{data} that names the column or key if the sampler cannot fill the requested columns.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Number of rows from which the sampler draws. May be 0 at first.
  virtual int64_t rows() const = 0;
  virtual bool ready() const { return rows() > 0; }
  virtual void sample(const BatchView& batch) = 0;
  // Sets the priorities of the rows of the latest batch, if the request has priorities.
  virtual void set_priorities(std::span<const float> /*priorities*/) {}
  virtual void visit_state(StateVisitor& state) = 0;
};

// Throws Error{config} that names the first requested column that is not in `offered`. `source`
// describes the sampler in the message.
void check_columns(const BatchRequest& request, std::initializer_list<BatchColumn> offered,
                   const char* source);

// Draws transitions with replacement, uniformly or by priority. Normalises observations while it
// copies them.
class UniformSampler final : public Sampler {
 public:
  // The threads of `pool`, if any, copy rows together. They do not change the results.
  UniformSampler(std::shared_ptr<const TransitionDataset> dataset, ObsNormalizer normalizer,
                 BatchRequest request, Rng rng, ThreadPool* pool = nullptr);

  int64_t rows() const override { return dataset_->rows(); }
  void sample(const BatchView& batch) override;
  void set_priorities(std::span<const float> priorities) override {
    priorities_->update(indices_, priorities);
  }
  // Visits the random stream and the priorities. Does not visit the dataset and the normaliser,
  // because a resumed run passes them to the constructor.
  void visit_state(StateVisitor& state) override;

 private:
  void read_ahead(int64_t rows);
  void prefetch_and_gather(const BatchView& batch, int64_t first, int64_t end) const;
  void gather_row(const BatchView& batch, int64_t i) const;

  std::shared_ptr<const TransitionDataset> dataset_;
  ObsNormalizer normalizer_;
  BatchRequest request_;
  float gamma_;
  bool reads_ahead_;  // true if the dataset may exceed the memory, so that rows may be on disk
  Rng rng_;
  ThreadPool* pool_;
  std::optional<RowPriorities> priorities_;
  std::vector<int64_t> indices_, later_indices_;
};

}  // namespace rl_training
