#include "rl_training/data/frame_store.h"

namespace rl_training {

int64_t FrameStore::add(const unsigned char* frame) {
  frames_.emplace_back(frame, frame + frame_bytes_);
  return first_ + size() - 1;
}

void FrameStore::drop_before(int64_t number) {
  for (; first_ < number && !frames_.empty(); ++first_) frames_.pop_front();
}

}  // namespace rl_training
