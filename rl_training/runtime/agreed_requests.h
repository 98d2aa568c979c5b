#pragma once
#include "rl_training/runtime/stop_request.h"
#include "rl_training/util/process_group.h"

namespace rl_training {

struct LoopRequests {
  int signal = 0;           // not 0: stop because of this signal, with a checkpoint
  bool end = false;         // stop because of a callback, with a checkpoint
  bool checkpoint = false;  // write an additional checkpoint
};

// Requests to the training loop, agreed on by all processes of a run: a request to one of them
// takes effect in all at the same step. Requests are sent along with other exchanges.
class AgreedRequests {
 public:
  // Both may be null.
  AgreedRequests(StopRequests* own, ProcessGroup* processes) : own_(own), processes_(processes) {}

  const StopRequests* own() const { return own_; }
  // Call at the beginning of an iteration of the loop. `end`: a callback of this process ends
  // training.
  void tell(bool end);
  // Call at its end. `fresh` also includes requests that arrived during the iteration, at the cost
  // of one more message.
  LoopRequests look(bool end, bool fresh);

 private:
  LoopRequests asked_here(bool end);

  StopRequests* own_;
  ProcessGroup* processes_;
  bool checkpoint_ = false;  // requested in this process and not agreed on yet
  int64_t operations_ = 0;   // operations of the group when the iteration began
};

}  // namespace rl_training
