#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rl_training/data/sampler.h"

namespace rl_training {

// The newest `capacity` transitions of an online run. Rows are numbered from 0 in the order in
// which they came and keep their number for good; `first` is the oldest one that is still there.
// `streams` environments add in turn, so row n belongs to environment n % streams.
class ReplayBuffer {
 public:
  ReplayBuffer(int64_t capacity, int64_t obs_dim, int64_t action_dim, int64_t streams = 1);

  // One transition; actions are scaled to [-1, 1], rewards as learnt from.
  void add(const float* obs, const float* action, float reward, const float* next_obs,
           bool terminated, bool truncated);

  int64_t capacity() const { return capacity_; }
  int64_t total() const { return total_; }  // rows ever added
  int64_t first() const { return std::max<int64_t>(0, total_ - capacity_); }
  int64_t rows() const { return total_ - first(); }
  int64_t obs_dim() const { return obs_dim_; }
  int64_t action_dim() const { return action_dim_; }
  int64_t streams() const { return streams_; }

  const float* obs(int64_t row) const { return record(row); }
  const float* next_obs(int64_t row) const { return record(row) + obs_dim_; }
  const float* action(int64_t row) const { return record(row) + 2 * obs_dim_; }
  float reward(int64_t row) const { return record(row)[2 * obs_dim_ + action_dim_]; }
  bool terminated(int64_t row) const { return (flags(row) & kTerminated) != 0; }
  bool truncated(int64_t row) const { return (flags(row) & kTruncated) != 0; }
  // First row (number, maybe no longer there) and last row of the row's episode; -1 where the
  // episode still goes on.
  int64_t episode_begin(int64_t row) const { return episodes_[place(row)].begin; }
  int64_t episode_end(int64_t row) const { return episodes_[place(row)].end; }
  // Whether any row of a finished episode is there.
  bool has_finished_episode() const { return last_end_ >= first(); }

  // Copies one row into place i of a batch, observations normalised.
  void gather(int64_t row, const ObsNormalizer& normalizer, const BatchView& batch,
              int64_t i) const;

  // Rows as bytes, and back: `restore` takes them in the order of their numbers.
  std::string encode(int64_t row, int64_t count) const;
  void restore(int64_t row, std::string_view bytes);
  // Whether every row of the window came back.
  bool complete() const { return oldest_ <= first(); }
  int64_t record_bytes() const { return width_ * static_cast<int64_t>(sizeof(float)); }

  // Only the number of rows: their content is kept in files of its own that never change.
  void visit_state(StateVisitor& state);

 private:
  static constexpr int kTerminated = 1, kTruncated = 2;
  struct Episode {
    int64_t begin = 0, end = -1;
  };

  // Divides only once rows have been overwritten.
  int64_t place(int64_t row) const { return row < capacity_ ? row : row % capacity_; }
  const float* record(int64_t row) const { return records_.data() + place(row) * width_; }
  int flags(int64_t row) const { return static_cast<int>(record(row)[width_ - 1]); }
  float* next_record();
  void note_episode();

  int64_t capacity_, obs_dim_, action_dim_, streams_, width_;
  int64_t total_ = 0, last_end_ = -1;
  int64_t oldest_ = 0;  // rows before it never were here: they were gone when it was restored
  std::vector<float>
      records_;  // [rows, obs | next_obs | action | reward | flags], grows to capacity
  std::vector<Episode> episodes_;  // of each record
};

// Rows drawn uniformly with replacement from what the buffer holds.
class ReplaySampler final : public Sampler {
 public:
  ReplaySampler(const ReplayBuffer& buffer, const ObsNormalizer& normalizer, Rng rng)
      : buffer_(buffer), normalizer_(normalizer), rng_(rng) {}

  int64_t rows() const override { return buffer_.rows(); }
  void sample(const BatchView& batch) override;
  void visit_state(StateVisitor& state) override { state.part("rng", rng_); }

 private:
  const ReplayBuffer& buffer_;
  const ObsNormalizer& normalizer_;
  Rng rng_;
  std::vector<int64_t> indices_;
};

// Each minibatch holds round(ratio * rows) rows of the first sampler, then rows of the second; with
// a ratio strictly between 0 and 1 at least one of each. Without a ratio every row of the two is as
// likely as any other, as if they lay in one buffer.
class MixtureSampler final : public Sampler {
 public:
  MixtureSampler(Sampler& first, Sampler& second, std::optional<double> ratio, Rng rng)
      : first_(first), second_(second), ratio_(ratio), rng_(rng) {}

  static int64_t first_rows(double ratio, int64_t rows);
  // Rows of the first one in a minibatch of so many; without a ratio, in the latest one.
  int64_t first_rows(int64_t rows) const;
  int64_t rows() const override { return first_.rows() + second_.rows(); }
  bool ready() const override;
  void sample(const BatchView& batch) override;
  // The two are visited by whoever owns them.
  void visit_state(StateVisitor& state) override;

 private:
  int64_t draw_first_rows(int64_t rows);

  Sampler& first_;
  Sampler& second_;
  std::optional<double> ratio_;
  Rng rng_;                    // used without a ratio only
  int64_t latest_first_ = -1;  // no minibatch yet
};

}  // namespace rl_training
