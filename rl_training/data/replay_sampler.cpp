#include "rl_training/data/replay_sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rl_training/util/error.h"

namespace rl_training {

void check_replay_columns(const BatchRequest& request) {
  using enum BatchColumn;
  check_columns(request,
                {obs, action, reward, next_obs, terminated, discount, next_action,
                 next_action_valid, return_to_go},
                "a replay buffer");
}

ReplaySampler::ReplaySampler(const ReplayBuffer& buffer, const ObsNormalizer& normalizer,
                             BatchRequest request, Rng rng)
    : buffer_(buffer),
      normalizer_(normalizer),
      request_(std::move(request)),
      whole_episodes_(request_.has(BatchColumn::return_to_go)),
      rng_(rng) {
  check_replay_columns(request_);
  if (request_.priorities.used) priorities_.emplace(request_.priorities.reset_interval);
  if (!whole_episodes_ || buffer.keeps_returns()) return;
  throw Error(ErrorKind::internal, {"", 0, column_name(BatchColumn::return_to_go)},
              "the replay buffer keeps no returns");
}

// Rejects a placeholder and draws again. If the batch needs returns, also rejects rows of
// unfinished episodes. Only the latest episode of each environment can be unfinished, so few draws
// are rejected.
void ReplaySampler::draw_uniformly() {
  rng_.fill_below(indices_, static_cast<uint64_t>(buffer_.rows()));
  if (!whole_episodes_ && buffer_.gaps() == 0) return;
  for (auto& index : indices_) {
    while (!can_be_drawn(buffer_.first() + index)) {
      index = static_cast<int64_t>(rng_.below(static_cast<uint64_t>(buffer_.rows())));
    }
  }
}

bool ReplaySampler::can_be_drawn(int64_t row) const {
  return !buffer_.is_gap(row) && (!whole_episodes_ || buffer_.episode_end(row) >= 0);
}

// Assigns the largest priority to rows that were added since the latest batch.
void ReplaySampler::notice_new_rows() {
  priorities_->grow(buffer_.rows());
  for (int64_t row = std::max(noticed_, buffer_.first()); row < buffer_.total(); ++row) {
    const int64_t place = row % buffer_.capacity();
    buffer_.is_gap(row) ? priorities_->remove(place) : priorities_->renew(place);
  }
  noticed_ = buffer_.total();
}

void ReplaySampler::draw_by_priorities() {
  notice_new_rows();
  places_.resize(indices_.size());
  const int64_t oldest = buffer_.first() % buffer_.capacity();
  for (size_t i = 0; i < indices_.size(); ++i) {
    places_[i] = priorities_->draw(rng_);
    indices_[i] = (places_[i] - oldest + buffer_.rows()) % buffer_.rows();
  }
}

void ReplaySampler::set_priorities(std::span<const float> priorities) {
  priorities_->update(places_, priorities);
}

// When a run is resumed, the rows are restored before this call, so that notice_new_rows() can
// determine the number of priorities to load.
void ReplaySampler::visit_state(StateVisitor& state) {
  state.part("rng", rng_);
  if (!priorities_) return;
  notice_new_rows();
  state.part("priorities", *priorities_);
}

void ReplaySampler::sample(const BatchView& batch) {
  constexpr int64_t kAhead = 8, kCacheLine = 64;
  indices_.resize(static_cast<size_t>(batch.rows));
  priorities_ ? draw_by_priorities() : draw_uniformly();
  const int64_t first = buffer_.first(), bytes = buffer_.record_bytes();
  for (int64_t i = -kAhead; i < batch.rows; ++i) {
    if (i + kAhead < batch.rows) {
      const unsigned char* next = buffer_.record_address(first + indices_[i + kAhead]);
      for (int64_t k = 0; k < bytes; k += kCacheLine) __builtin_prefetch(next + k);
    }
    if (i >= 0) buffer_.gather(first + indices_[i], normalizer_, request_, batch, i);
  }
}

int64_t MixtureSampler::first_rows(double ratio, int64_t rows) {
  const auto wanted = static_cast<int64_t>(std::llround(ratio * static_cast<double>(rows)));
  if (ratio <= 0 || ratio >= 1 || rows < 2) return wanted;
  return std::clamp<int64_t>(wanted, 1, rows - 1);
}

int64_t MixtureSampler::first_rows(int64_t rows) const {
  if (ratio_) return first_rows(*ratio_, rows);
  return latest_first_ < 0 ? rows : latest_first_;
}

bool MixtureSampler::ready() const {
  if (!ratio_) return rows() > 0;
  return (*ratio_ <= 0 || first_.ready()) && (*ratio_ >= 1 || second_.ready());
}

// Draws `rows` times from the rows of both samplers. Returns the number of draws that belong to the
// first sampler.
int64_t MixtureSampler::draw_first_rows(int64_t rows) {
  const auto first = static_cast<uint64_t>(first_.rows()),
             all = static_cast<uint64_t>(this->rows());
  int64_t count = 0;
  for (int64_t i = 0; i < rows; ++i) count += rng_.below(all) < first ? 1 : 0;
  return count;
}

void MixtureSampler::sample(const BatchView& batch) {
  const int64_t rows = latest_first_ =
      ratio_ ? first_rows(batch.rows) : draw_first_rows(batch.rows);
  if (rows > 0) first_.sample(batch.part(0, rows));
  if (rows < batch.rows) second_.sample(batch.part(rows, batch.rows - rows));
}

void MixtureSampler::set_priorities(std::span<const float> priorities) {
  const auto rows = static_cast<size_t>(first_rows(static_cast<int64_t>(priorities.size())));
  if (rows > 0) first_.set_priorities(priorities.first(rows));
  if (rows < priorities.size()) second_.set_priorities(priorities.subspan(rows));
}

void MixtureSampler::visit_state(StateVisitor& state) {
  if (ratio_) return;
  state.part("rng", rng_);
  state.scalar("latest_first", latest_first_, /*lowest=*/-1);
}

}  // namespace rl_training
