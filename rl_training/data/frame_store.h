#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace rl_training {

// The image frames of a replay buffer. The buffer adds each frame once, and several rows may refer
// to the same frame by its number. Frames are numbered from 0 in the order of insertion.
class FrameStore {
 public:
  explicit FrameStore(int64_t frame_bytes) : frame_bytes_(frame_bytes) {}

  int64_t add(const unsigned char* frame);
  const unsigned char* at(int64_t number) const {
    return frames_[static_cast<size_t>(number - first_)].data();
  }
  // Frees every frame before `number`.
  void drop_before(int64_t number);

  int64_t frame_bytes() const { return frame_bytes_; }
  int64_t size() const { return static_cast<int64_t>(frames_.size()); }

 private:
  int64_t frame_bytes_, first_ = 0;
  std::deque<std::vector<unsigned char>> frames_;
};

}  // namespace rl_training
