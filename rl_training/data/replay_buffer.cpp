#include "rl_training/data/replay_buffer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rl_training/util/copy_few.h"
#include "rl_training/util/error.h"

namespace rl_training {

ReplayBuffer::ReplayBuffer(int64_t capacity, int64_t obs_dim, int64_t action_dim, int64_t streams)
    : capacity_(capacity),
      obs_dim_(obs_dim),
      action_dim_(action_dim),
      streams_(streams),
      width_(2 * obs_dim + action_dim + 2) {
  if (capacity < streams) throw Error(ErrorKind::internal, "a buffer smaller than one step");
}

// Memory grows with the rows, so that a generous capacity costs nothing at first.
float* ReplayBuffer::next_record() {
  if (total_ < capacity_) {
    records_.resize(static_cast<size_t>((total_ + 1) * width_));
    episodes_.emplace_back();
  }
  return records_.data() + place(total_) * width_;
}

void ReplayBuffer::add(const float* obs, const float* action, float reward, const float* next_obs,
                       bool terminated, bool truncated) {
  float* out = next_record();
  copy_few(obs, obs_dim_, out);
  copy_few(next_obs, obs_dim_, out + obs_dim_);
  copy_few(action, action_dim_, out + 2 * obs_dim_);
  out[2 * obs_dim_ + action_dim_] = reward;
  out[width_ - 1] =
      static_cast<float>((terminated ? kTerminated : 0) + (truncated ? kTruncated : 0));
  note_episode();
}

// The episode that the newest record belongs to goes on from the stream's row before it, or begins
// here; when it ends, all its rows learn where.
void ReplayBuffer::note_episode() {
  const int64_t row = total_++;
  const int64_t before = row - streams_;
  const bool goes_on = before >= std::max(first(), oldest_) && flags(before) == 0;
  auto& episode = episodes_[place(row)];
  episode.begin = goes_on ? episodes_[place(before)].begin : row;
  episode.end = -1;
  if (flags(row) == 0) return;
  last_end_ = row;
  for (int64_t i = row; i >= std::max(episode.begin, first()); i -= streams_) {
    episodes_[place(i)].end = row;
  }
}

void ReplayBuffer::gather(int64_t row, const ObsNormalizer& normalizer, const BatchView& batch,
                          int64_t i) const {
  const float* from = record(row);  // found once: its place may take a division
  const float* did = from + 2 * obs_dim_;
  const int ends = static_cast<int>(from[width_ - 1]);
  if (batch.obs) normalizer.apply(from, batch.obs + i * obs_dim_);
  if (batch.next_obs) normalizer.apply(from + obs_dim_, batch.next_obs + i * obs_dim_);
  if (batch.actions) copy_few(did, action_dim_, batch.actions + i * action_dim_);
  if (batch.rewards) batch.rewards[i] = did[action_dim_];
  if (batch.terminated) batch.terminated[i] = (ends & kTerminated) != 0 ? 1.0f : 0.0f;
  if (!batch.next_actions && !batch.next_action_valid) return;
  // The stream's next row holds what was done next, once it is there.
  const int64_t next = row + streams_;
  const bool valid = ends == 0 && next < total_;
  if (batch.next_action_valid) batch.next_action_valid[i] = valid ? 1.0f : 0.0f;
  if (!batch.next_actions) return;
  float* out = batch.next_actions + i * action_dim_;
  if (valid) {
    copy_few(action(next), action_dim_, out);
  } else {
    std::fill_n(out, action_dim_, 0.0f);
  }
}

std::string ReplayBuffer::encode(int64_t row, int64_t count) const {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(count * record_bytes()));
  for (int64_t i = row; i < row + count; ++i) {
    bytes.append(reinterpret_cast<const char*>(record(i)), static_cast<size_t>(record_bytes()));
  }
  return bytes;
}

void ReplayBuffer::restore(int64_t row, std::string_view bytes) {
  const auto size = static_cast<size_t>(record_bytes());
  if (bytes.size() % size != 0) {
    throw Error(ErrorKind::checkpoint, "replay rows of another size than this run's");
  }
  if (total_ == 0) total_ = oldest_ = row;
  if (row != total_) throw Error(ErrorKind::checkpoint, "replay rows are missing");
  while (static_cast<int64_t>(episodes_.size()) < std::min(total_, capacity_)) {
    episodes_.emplace_back();  // only when the oldest rows fell out of the window
    records_.resize(episodes_.size() * static_cast<size_t>(width_));
  }
  for (size_t at = 0; at < bytes.size(); at += size) {
    std::memcpy(next_record(), bytes.data() + at, size);
    note_episode();
  }
}

void ReplayBuffer::visit_state(StateVisitor& state) {
  int64_t rows = total_;
  state.scalar("rows_added", rows);
  if (rows != total_) {
    throw Error(ErrorKind::checkpoint, {"", 0, "rows_added"},
                "the replay rows of this checkpoint are not all there (expected " +
                    std::to_string(rows) + ", got " + std::to_string(total_) + ")");
  }
}

void ReplaySampler::sample(const BatchView& batch) {
  constexpr int64_t kAhead = 8, kCacheLine = 64;
  indices_.resize(static_cast<size_t>(batch.rows));
  rng_.fill_below(indices_, static_cast<uint64_t>(buffer_.rows()));
  const int64_t first = buffer_.first(), bytes = buffer_.record_bytes();
  for (int64_t i = -kAhead; i < batch.rows; ++i) {
    if (i + kAhead < batch.rows) {
      const char* next = reinterpret_cast<const char*>(buffer_.obs(first + indices_[i + kAhead]));
      for (int64_t k = 0; k < bytes; k += kCacheLine) __builtin_prefetch(next + k);
    }
    if (i >= 0) buffer_.gather(first + indices_[i], normalizer_, batch, i);
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

// How many of so many draws from all rows fall on the first sampler's.
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

void MixtureSampler::visit_state(StateVisitor& state) {
  if (ratio_) return;
  state.part("rng", rng_);
  state.scalar("latest_first", latest_first_, /*lowest=*/-1);
}

}  // namespace rl_training
