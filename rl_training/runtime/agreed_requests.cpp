#include "rl_training/runtime/agreed_requests.h"

namespace rl_training {
namespace {

constexpr int32_t kSignalBits = 0xff, kEnd = 0x100, kCheckpoint = 0x200;

}  // namespace

LoopRequests AgreedRequests::asked_here(bool end) {
  if (own_ != nullptr && own_->take_checkpoint()) checkpoint_ = true;
  return {own_ == nullptr ? 0 : own_->stop(), end, checkpoint_};
}

void AgreedRequests::tell(bool end) {
  if (processes_ == nullptr) return;
  const auto here = asked_here(end);
  processes_->say((here.signal & kSignalBits) | (here.end ? kEnd : 0) |
                  (here.checkpoint ? kCheckpoint : 0));
  operations_ = processes_->operations();
}

LoopRequests AgreedRequests::look(bool end, bool fresh) {
  LoopRequests all;
  if (processes_ == nullptr) {
    all = asked_here(end);
  } else {
    if (fresh) tell(end);
    if (processes_->operations() == operations_) processes_->exchange("");
    for (const int32_t word : processes_->words()) {
      if (all.signal == 0) all.signal = word & kSignalBits;
      all.end = all.end || (word & kEnd) != 0;
      all.checkpoint = all.checkpoint || (word & kCheckpoint) != 0;
    }
  }
  checkpoint_ = checkpoint_ && !all.checkpoint;
  return all;
}

}  // namespace rl_training
