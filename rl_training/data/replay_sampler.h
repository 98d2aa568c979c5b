#pragma once
#include <optional>

#include "rl_training/data/replay_buffer.h"
#include "rl_training/data/sampler.h"

namespace rl_training {

// Draws rows from the buffer with replacement, uniformly or by priority. If the request contains
// returns-to-go, uniform draws are limited to finished episodes.
class ReplaySampler final : public Sampler {
 public:
  ReplaySampler(const ReplayBuffer& buffer, const ObsNormalizer& normalizer, BatchRequest request,
                Rng rng);

  int64_t rows() const override {
    return whole_episodes_ && !buffer_.has_finished_episode() ? 0 : buffer_.rows();
  }
  bool ready() const override { return rows() > buffer_.gaps(); }
  void sample(const BatchView& batch) override;
  void set_priorities(std::span<const float> priorities) override;
  void visit_state(StateVisitor& state) override;

 private:
  void draw_uniformly();
  void draw_by_priorities();
  void notice_new_rows();
  bool can_be_drawn(int64_t row) const;

  const ReplayBuffer& buffer_;
  const ObsNormalizer& normalizer_;
  BatchRequest request_;
  bool whole_episodes_;
  Rng rng_;
  std::optional<RowPriorities> priorities_;  // indexed by the position of a row in the ring buffer
  int64_t noticed_ = 0;                      // priorities_ includes all rows below this number
  std::vector<int64_t> indices_, places_;
};

// Throws Error{config} that names the column if a replay buffer cannot fill a requested column.
void check_replay_columns(const BatchRequest& request);

// Each minibatch contains round(ratio * rows) rows of the first sampler, followed by rows of the
// second sampler. If the ratio is strictly between 0 and 1, both samplers contribute at least one
// row. Without a ratio, all rows of both samplers are equally likely, as in one common buffer.
class MixtureSampler final : public Sampler {
 public:
  MixtureSampler(Sampler& first, Sampler& second, std::optional<double> ratio, Rng rng)
      : first_(first), second_(second), ratio_(ratio), rng_(rng) {}

  static int64_t first_rows(double ratio, int64_t rows);
  // Number of rows of the first sampler in a minibatch of `rows` rows. Without a ratio, the number
  // in the latest minibatch, or `rows` if there is no minibatch yet.
  int64_t first_rows(int64_t rows) const;
  int64_t rows() const override { return first_.rows() + second_.rows(); }
  bool ready() const override;
  void sample(const BatchView& batch) override;
  void set_priorities(std::span<const float> priorities) override;
  // Does not visit the two samplers, because their owner visits them.
  void visit_state(StateVisitor& state) override;

 private:
  int64_t draw_first_rows(int64_t rows);

  Sampler& first_;
  Sampler& second_;
  std::optional<double> ratio_;
  Rng rng_;                    // used only without a ratio
  int64_t latest_first_ = -1;  // first_rows() of the latest minibatch; -1 if there is none
};

}  // namespace rl_training
