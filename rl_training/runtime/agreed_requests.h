#pragma once
#include "rl_training/runtime/stop_request.h"
#include "rl_training/util/process_group.h"

namespace rl_training {

struct LoopRequests {
  int signal = 0;           // not 0: stop for it, with a checkpoint
  bool end = false;         // the same, for a callback
  bool checkpoint = false;  // one more checkpoint
};

// What is asked of the training loop, as all processes of a run see it: what one of them is asked
// counts for all, at the same step. It travels with what they exchange anyway.
class AgreedRequests {
 public:
  // Both may be null.
  AgreedRequests(StopRequests* own, ProcessGroup* processes) : own_(own), processes_(processes) {}

  const StopRequests* own() const { return own_; }
  // At the beginning of a turn of the loop. `end`: a callback of this process ends training.
  void tell(bool end);
  // At its end. `fresh`: what came up during the turn counts already, for one more message.
  LoopRequests look(bool end, bool fresh);

 private:
  LoopRequests asked_here(bool end);

  StopRequests* own_;
  ProcessGroup* processes_;
  bool checkpoint_ = false;  // was asked for here and is not agreed on yet
  int64_t operations_ = 0;   // of the group when the turn began
};

}  // namespace rl_training
