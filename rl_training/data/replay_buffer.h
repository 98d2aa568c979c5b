#pragma once
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rl_training/data/batch_request.h"
#include "rl_training/data/frame_store.h"
#include "rl_training/data/normalizer.h"
#include "rl_training/data/space.h"

namespace rl_training {

// The newest `capacity` transitions of an online run, in the dtypes of their spaces. Rows are
// numbered from 0 in the order of insertion and never change their number; `first` is the oldest
// row that is still stored. `streams` environments add rows in rotation, so row n belongs to
// environment n % streams. Each image frame is stored once, even if several stacks contain it. For
// example, next_obs of a row has the same frames as obs of the next row of the episode.
class ReplayBuffer {
 public:
  // If `returns` is set, rows of finished episodes have a return-to-go.
  ReplayBuffer(int64_t capacity, const Space& obs, const Space& action, int64_t streams = 1,
               const std::optional<ReturnRule>& returns = {});

  // Adds one transition in the dtypes of the spaces. Box actions must be scaled to [-1, 1], and the
  // reward must already be transformed.
  void add(const void* obs, const void* action, float reward, const void* next_obs, bool terminated,
           bool truncated);

  // Adds a placeholder for a step that only reset the environment, so that streams keep adding rows
  // in rotation. Samplers never draw placeholders.
  void add_gap(const void* obs, const void* action);
  bool is_gap(int64_t row) const { return (tail(row).flags & kGap) != 0; }
  int64_t gaps() const { return gaps_; }  // placeholders among the stored rows

  int64_t capacity() const { return capacity_; }
  int64_t total() const { return total_; }  // rows ever added
  int64_t first() const { return std::max<int64_t>(0, total_ - capacity_); }
  int64_t rows() const { return total_ - first(); }
  const Space& obs_space() const { return obs_space_; }
  const Space& action_space() const { return action_space_; }
  int64_t streams() const { return streams_; }

  const unsigned char* action_bytes(int64_t row) const { return record(row) + action_at_; }
  // The next three functions are only for float32 spaces.
  const float* obs(int64_t row) const { return reinterpret_cast<const float*>(record(row)); }
  const float* next_obs(int64_t row) const {
    return reinterpret_cast<const float*>(record(row) + place_width_);
  }
  const float* action(int64_t row) const {
    return reinterpret_cast<const float*>(action_bytes(row));
  }
  float reward(int64_t row) const { return tail(row).reward; }
  bool terminated(int64_t row) const { return (tail(row).flags & kTerminated) != 0; }
  bool truncated(int64_t row) const { return (tail(row).flags & kTruncated) != 0; }
  // The row of the next step of the same episode, or -1 if the episode ended at `row` or its next
  // row has not been added yet.
  int64_t following(int64_t row) const {
    const int64_t next = row + streams_;
    return tail(row).flags == 0 && next < total_ && !is_gap(next) ? next : -1;
  }
  // First and last row of the episode that contains `row`. The first row may no longer be stored.
  // The last row is -1 if the episode has not ended.
  int64_t episode_begin(int64_t row) const { return episodes_[place(row)].begin; }
  int64_t episode_end(int64_t row) const { return episodes_[place(row)].end; }
  // Whether any row of a finished episode is stored.
  bool has_finished_episode() const { return last_end_ >= first(); }
  bool keeps_returns() const { return return_rule_.has_value(); }
  // Call this only for a row whose episode has ended.
  float return_to_go(int64_t row) const { return returns_[static_cast<size_t>(place(row))]; }

  // Copies a transition to index i of a batch. The transition starts at `row` and spans up to
  // `request.n_step` steps. Normalises observations.
  void gather(int64_t row, const ObsNormalizer& normalizer, const BatchRequest& request,
              const BatchView& batch, int64_t i) const;
  // Address and size of a row's record, for prefetching.
  const unsigned char* record_address(int64_t row) const { return record(row); }
  int64_t record_bytes() const { return width_; }

  int64_t frames() const { return frames_.size(); }  // number of stored frames

  // encode() serialises `count` rows, starting at `row`. restore() reads them back; call it in
  // ascending order of rows.
  std::string encode(int64_t row, int64_t count) const;
  void restore(int64_t row, std::string_view bytes);
  // Whether all of the newest `capacity` rows have been restored.
  bool complete() const { return oldest_ <= first(); }

  // Visits only the number of rows. The content of the rows is saved in separate files, which never
  // change.
  void visit_state(StateVisitor& state);

 private:
  // Flags of a row. kTerminated and kTruncated mark the last row of an episode. This row also has
  // kFailed if all stored rewards of the episode equal failure_reward. kGap marks a placeholder
  // (add_gap).
  static constexpr int32_t kTerminated = 1, kTruncated = 2, kFailed = 4, kGap = 8;
  static constexpr int64_t kNumberBytes = sizeof(int64_t);
  struct Episode {
    int64_t begin = 0, end = -1;
  };
  struct Tail {  // end of every record
    float reward = 0;
    int32_t flags = 0;
  };

  // Position of a row in the ring buffer. Rows below `capacity_` need no division.
  int64_t place(int64_t row) const { return row < capacity_ ? row : row % capacity_; }
  const unsigned char* record(int64_t row) const { return records_.data() + place(row) * width_; }
  // Copies the observation at `at` to `out`, and normalises it if it is a vector. For images, `at`
  // points to frame numbers.
  void read_obs(const unsigned char* at, const ObsNormalizer& normalizer, unsigned char* out) const;
  // Returns the number in `frames_` of the frame with index `frame` in the stack at `at`. Numbers
  // within a stack never decrease.
  static int64_t frame_number(const unsigned char* at, int64_t frame = 0) {
    int64_t number = 0;
    std::memcpy(&number, at + frame * kNumberBytes, sizeof number);
    return number;
  }
  static void set_frame(unsigned char* at, int64_t frame, int64_t number) {
    std::memcpy(at + frame * kNumberBytes, &number, sizeof number);
  }
  Tail tail(int64_t row) const { return tail_of(record(row)); }
  Tail tail_of(const unsigned char* record) const {
    Tail tail;
    std::memcpy(&tail, record + tail_at_, sizeof tail);
    return tail;
  }
  unsigned char* next_record();
  void add(const void* obs, const void* action, const void* next_obs, const Tail& tail);
  // Whether the next row that is added continues the episode of the stream's previous row.
  bool continues() const;
  void put_frames(unsigned char* record, const unsigned char* obs, const unsigned char* next_obs);
  void encode_frames(int64_t row, bool known, std::string& bytes) const;
  template <class Take>
  void restore_frames(unsigned char* record, const Take& take);
  void drop_unused_frames();
  bool episode_failed(float last_reward) const;
  void note_episode();
  void note_returns(int64_t first_row, int64_t last_row);

  int64_t capacity_;
  Space obs_space_, action_space_;
  int64_t streams_;
  int64_t place_width_;                  // bytes of an observation or of its frame numbers
  int64_t action_at_, tail_at_, width_;  // bytes; record layout: obs | next_obs | action | tail
  int64_t total_ = 0, last_end_ = -1, gaps_ = 0;
  int64_t oldest_ = 0;                  // oldest row that was restored; 0 in a new buffer
  std::vector<unsigned char> records_;  // grows to `capacity` records
  std::vector<Episode> episodes_;       // one per record
  std::optional<ReturnRule> return_rule_;
  std::vector<float> returns_;  // one per record; empty without a return rule
  FrameStore frames_;           // frames of image observations
};

}  // namespace rl_training
