#include "rl_training/data/replay_buffer.h"

#include "rl_training/util/copy_entry.h"
#include "rl_training/util/error.h"

namespace rl_training {

ReplayBuffer::ReplayBuffer(int64_t capacity, const Space& obs, const Space& action, int64_t streams,
                           const std::optional<ReturnRule>& returns)
    : capacity_(capacity),
      obs_space_(obs),
      action_space_(action),
      streams_(streams),
      place_width_(obs.is_image() ? obs.frames * kNumberBytes : obs.bytes()),
      action_at_(2 * place_width_),
      tail_at_(action_at_ + action.bytes()),
      width_(tail_at_ + static_cast<int64_t>(sizeof(Tail))),
      return_rule_(returns),
      frames_(obs.bytes() / obs.frames) {
  if (capacity < streams) throw Error(ErrorKind::internal, "the buffer is smaller than one step");
}

// Allocates memory only as rows are added, so an empty buffer of large capacity uses little memory.
unsigned char* ReplayBuffer::next_record() {
  if (total_ < capacity_) {
    records_.resize(static_cast<size_t>((total_ + 1) * width_));
    episodes_.emplace_back();
  } else if (is_gap(total_ - capacity_)) {
    --gaps_;
  }
  return records_.data() + place(total_) * width_;
}

void ReplayBuffer::add(const void* obs, const void* action, float reward, const void* next_obs,
                       bool terminated, bool truncated) {
  Tail tail{reward, (terminated ? kTerminated : 0) + (truncated ? kTruncated : 0)};
  if (tail.flags != 0 && episode_failed(reward)) tail.flags |= kFailed;
  add(obs, action, next_obs, tail);
}

void ReplayBuffer::add_gap(const void* obs, const void* action) {
  add(obs, action, obs, {0.0f, kGap});
}

void ReplayBuffer::add(const void* obs, const void* action, const void* next_obs,
                       const Tail& tail) {
  const auto bytes = [](const void* data) { return static_cast<const unsigned char*>(data); };
  unsigned char* out = next_record();
  if (obs_space_.is_image()) {
    put_frames(out, bytes(obs), bytes(next_obs));
  } else {
    copy_entry(bytes(obs), place_width_, out);
    copy_entry(bytes(next_obs), place_width_, out + place_width_);
  }
  copy_entry(bytes(action), tail_at_ - action_at_, out + action_at_);
  std::memcpy(out + tail_at_, &tail, sizeof tail);
  note_episode();
  if (obs_space_.is_image()) drop_unused_frames();
}

bool ReplayBuffer::continues() const {
  const int64_t before = total_ - streams_;
  return before >= std::max(first(), oldest_) && before >= 0 && tail(before).flags == 0;
}

// Writes the frame numbers of both stacks to the record and stores the frames that are new. The
// first stack of an episode repeats one frame. After a step, the stack usually consists of the
// previous stack without its oldest frame, followed by one new frame. Comparing the frames shows
// how many are shared; the first frame that differs and all later frames are stored as new.
void ReplayBuffer::put_frames(unsigned char* record, const unsigned char* obs,
                              const unsigned char* next_obs) {
  const int64_t stack = obs_space_.frames, bytes = frames_.frame_bytes();
  const auto same = [&](int64_t number, const unsigned char* frame) {
    return std::memcmp(frames_.at(number), frame, static_cast<size_t>(bytes)) == 0;
  };
  if (continues()) {
    std::memcpy(record, this->record(total_ - streams_) + place_width_,
                static_cast<size_t>(place_width_));
  } else {
    for (int64_t i = 0; i < stack; ++i, obs += bytes) {
      const bool repeats = i > 0 && same(frame_number(record, i - 1), obs);
      set_frame(record, i, repeats ? frame_number(record, i - 1) : frames_.add(obs));
    }
  }
  bool moved = true;
  for (int64_t i = 0; i < stack; ++i, next_obs += bytes) {
    moved = moved && i + 1 < stack && same(frame_number(record, i + 1), next_obs);
    set_frame(record + place_width_, i,
              moved ? frame_number(record, i + 1) : frames_.add(next_obs));
  }
}

void ReplayBuffer::read_obs(const unsigned char* at, const ObsNormalizer& normalizer,
                            unsigned char* out) const {
  if (!obs_space_.is_image()) return normalizer.apply(at, out);
  const int64_t bytes = frames_.frame_bytes();
  for (int64_t i = 0; i < obs_space_.frames; ++i) {
    std::memcpy(out + i * bytes, frames_.at(frame_number(at, i)), static_cast<size_t>(bytes));
  }
}

// Drops all frames before the oldest frame that a stored row uses. Within a stream, frames of later
// rows are newer, so it is enough to check the oldest row of each stream.
void ReplayBuffer::drop_unused_frames() {
  if (total_ <= capacity_) return;
  int64_t needed = frame_number(record(first()));
  for (int64_t row = first(); row < std::min(first() + streams_, total_); ++row) {
    needed = std::min(needed, frame_number(record(row)));
  }
  frames_.drop_before(needed);
}

// Whether all stored rewards of the episode equal failure_reward. The result is stored with the
// last row: a resumed run cannot compute it again, because older rows may have been overwritten.
bool ReplayBuffer::episode_failed(float last_reward) const {
  if (!return_rule_ || !return_rule_->is_failure(last_reward)) return false;
  for (int64_t row = total_ - streams_; row >= std::max(total_ + 1 - capacity_, oldest_);
       row -= streams_) {
    if (tail(row).flags != 0) break;
    if (!return_rule_->is_failure(tail(row).reward)) return false;
  }
  return true;
}

void ReplayBuffer::note_returns(int64_t first_row, int64_t last_row) {
  returns_.resize(episodes_.size());
  return_rule_->sum_up((last_row - first_row) / streams_ + 1, (tail(last_row).flags & kFailed) != 0,
                       [&](int64_t step) { return tail(first_row + step * streams_).reward; },
                       [&](int64_t step, float value) {
                         returns_[static_cast<size_t>(place(first_row + step * streams_))] = value;
                       });
}

// Assigns the newest record to the episode of the stream's previous row, or to a new episode. When
// an episode ends, sets Episode::end for all of its stored rows and computes their returns.
void ReplayBuffer::note_episode() {
  const int64_t row = total_++;
  if (is_gap(row)) ++gaps_;
  const int64_t before = row - streams_;
  const bool inside = before >= std::max(first(), oldest_) && tail(before).flags == 0;
  auto& episode = episodes_[place(row)];
  episode.begin = inside ? episodes_[place(before)].begin : row;
  episode.end = -1;
  if (tail(row).flags == 0) return;
  if (!is_gap(row)) last_end_ = row;
  int64_t oldest = row;
  for (int64_t i = row; i >= std::max(episode.begin, first()); i -= streams_) {
    episodes_[place(i)].end = row;
    oldest = i;
  }
  if (return_rule_) note_returns(oldest, row);
}

void ReplayBuffer::gather(int64_t row, const ObsNormalizer& normalizer, const BatchRequest& request,
                          const BatchView& batch, int64_t i) const {
  const unsigned char* from = record(row);  // computed once, because it may involve a division
  const unsigned char* to = from;           // the record of the last step
  Tail end = tail_of(from);
  int64_t last = row;
  float reward = end.reward;
  float discount = (end.flags & kTerminated) != 0 ? 0.0f : static_cast<float>(request.gamma);
  if (request.n_step > 1) {
    const auto span = span_steps(*this, row, request);
    last = span.last_row;
    to = record(last);
    end = tail_of(to);
    reward = span.reward;
    discount = span.discount;
  }
  if (batch.obs) read_obs(from, normalizer, batch.obs + i * batch.obs_bytes);
  if (batch.next_obs) {
    read_obs(to + place_width_, normalizer, batch.next_obs + i * batch.obs_bytes);
  }
  if (batch.action) {
    copy_entry(from + action_at_, batch.action_bytes, batch.action + i * batch.action_bytes);
  }
  if (batch.reward) batch.reward[i] = reward;
  if (batch.discount) batch.discount[i] = discount;
  if (batch.terminated) batch.terminated[i] = (end.flags & kTerminated) != 0 ? 1.0f : 0.0f;
  if (batch.return_to_go) batch.return_to_go[i] = return_to_go(row);
  if (!batch.next_action && !batch.next_action_valid) return;
  // The next action is the action of the following row of the episode, if there is such a row.
  const int64_t next = following(last);
  if (batch.next_action_valid) batch.next_action_valid[i] = next >= 0 ? 1.0f : 0.0f;
  if (!batch.next_action) return;
  unsigned char* out = batch.next_action + i * batch.action_bytes;
  if (next >= 0) {
    copy_entry(action_bytes(next), batch.action_bytes, out);
  } else {
    std::fill_n(out, batch.action_bytes, static_cast<unsigned char>(0));
  }
}

namespace {

void append_bytes(std::string& bytes, const unsigned char* data, int64_t count) {
  bytes.append(reinterpret_cast<const char*>(data), static_cast<size_t>(count));
}

[[noreturn]] void wrong_row_size() {
  throw Error(ErrorKind::checkpoint, "the replay rows differ in size from those of this run");
}

}  // namespace

// Format of the two stacks of a row with images:
// - One byte: 0 if the observation is the next_obs of an earlier row in these bytes, otherwise 1.
// - If 1: for each frame of the observation, one byte. The byte is 0 if the frame repeats the
//   previous frame; otherwise it is 1 and the frame follows.
// - One byte: the number of frames that next_obs shares with the observation.
// - The other frames of next_obs.
void ReplayBuffer::encode_frames(int64_t row, bool known, std::string& bytes) const {
  const int64_t stack = obs_space_.frames;
  const unsigned char *from = record(row), *to = from + place_width_;
  const auto append_frame = [&](int64_t number) {
    append_bytes(bytes, frames_.at(number), frames_.frame_bytes());
  };
  bytes.push_back(known ? '\0' : '\1');
  for (int64_t i = 0; !known && i < stack; ++i) {
    const bool repeats = i > 0 && frame_number(from, i) == frame_number(from, i - 1);
    bytes.push_back(repeats ? '\0' : '\1');
    if (!repeats) append_frame(frame_number(from, i));
  }
  int64_t moved = 0;
  while (moved + 1 < stack && frame_number(to, moved) == frame_number(from, moved + 1)) ++moved;
  bytes.push_back(static_cast<char>(moved));
  for (int64_t i = moved; i < stack; ++i) append_frame(frame_number(to, i));
}

template <class Take>
void ReplayBuffer::restore_frames(unsigned char* record, const Take& take) {
  const int64_t stack = obs_space_.frames;
  if (*take(1) == 0) {
    if (!continues()) wrong_row_size();
    std::memcpy(record, this->record(total_ - streams_) + place_width_,
                static_cast<size_t>(place_width_));
  } else {
    for (int64_t i = 0; i < stack; ++i) {
      const bool repeats = *take(1) == 0;
      if (repeats && i == 0) wrong_row_size();
      set_frame(record, i,
                repeats ? frame_number(record, i - 1) : frames_.add(take(frames_.frame_bytes())));
    }
  }
  const int64_t moved = *take(1);
  if (moved >= stack) wrong_row_size();
  for (int64_t i = 0; i < stack; ++i) {
    set_frame(record + place_width_, i,
              i < moved ? frame_number(record, i + 1) : frames_.add(take(frames_.frame_bytes())));
  }
}

// Writes a record unchanged if its observations are vectors. A record with images is written as its
// frames, followed by the rest of the record.
std::string ReplayBuffer::encode(int64_t row, int64_t count) const {
  std::string bytes;
  if (!obs_space_.is_image()) bytes.reserve(static_cast<size_t>(count * width_));
  for (int64_t i = row; i < row + count; ++i) {
    if (!obs_space_.is_image()) {
      append_bytes(bytes, record(i), width_);
      continue;
    }
    const int64_t before = i - streams_;
    const bool known = before >= row && following(before) == i;
    encode_frames(i, known, bytes);
    append_bytes(bytes, record(i) + action_at_, width_ - action_at_);
  }
  return bytes;
}

void ReplayBuffer::restore(int64_t row, std::string_view bytes) {
  if (total_ == 0) total_ = oldest_ = row;
  if (row != total_) throw Error(ErrorKind::checkpoint, "replay rows are missing");
  while (static_cast<int64_t>(episodes_.size()) < std::min(total_, capacity_)) {
    episodes_.emplace_back();  // fills the positions before the oldest restored row
    records_.resize(episodes_.size() * static_cast<size_t>(width_));
  }
  const auto* next = reinterpret_cast<const unsigned char*>(bytes.data());
  auto left = static_cast<int64_t>(bytes.size());
  const auto take = [&](int64_t count) {
    if (count > left) wrong_row_size();
    const unsigned char* taken = next;
    next += count;
    left -= count;
    return taken;
  };
  while (left > 0) {
    if (!obs_space_.is_image()) {
      const unsigned char* record = take(width_);
      std::memcpy(next_record(), record, static_cast<size_t>(width_));
    } else {
      unsigned char* record = next_record();
      restore_frames(record, take);
      std::memcpy(record + action_at_, take(width_ - action_at_),
                  static_cast<size_t>(width_ - action_at_));
    }
    note_episode();
    if (obs_space_.is_image()) drop_unused_frames();
  }
}

void ReplayBuffer::visit_state(StateVisitor& state) {
  int64_t rows = total_;
  state.scalar("rows_added", rows);
  if (rows != total_) {
    throw Error(ErrorKind::checkpoint, {"", 0, "rows_added"},
                "replay rows of this checkpoint are missing (expected " + std::to_string(rows) +
                    ", got " + std::to_string(total_) + ")");
  }
}

}  // namespace rl_training
