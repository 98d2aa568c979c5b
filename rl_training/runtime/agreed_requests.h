#pragma once
#include "rl_training/runtime/stop_request.h"
#include "rl_training/util/process_group.h"

namespace rl_training {

struct LoopRequests {
  int signal = 0;           // if not 0, write a checkpoint and stop because of this signal
  bool end = false;         // write a checkpoint and stop because of a callback
  bool checkpoint = false;  // write an additional checkpoint
};

// Requests to the training loop, with agreement between all processes of a run: a request to one
// process takes effect in all processes in the same iteration of the loop. Requests are sent as
// part of other messages between the processes.
class AgreedRequests {
 public:
  // Both pointers may be null.
  AgreedRequests(StopRequests* own, ProcessGroup* processes) : own_(own), processes_(processes) {}

  const StopRequests* own() const { return own_; }
  // Adds the requests that this process received to its next messages. Call this function at the
  // beginning of an iteration of the loop. `end` is true if a callback of this process ends
  // training.
  void tell(bool end);
  // Returns the combined requests of all processes. Call this function at the end of an iteration.
  // With `fresh`, the result includes requests that arrived during the iteration, at the cost of
  // one more message.
  LoopRequests look(bool end, bool fresh);

 private:
  LoopRequests asked_here(bool end);

  StopRequests* own_;
  ProcessGroup* processes_;
  bool checkpoint_ = false;  // requested in this process and not agreed on yet
  int64_t operations_ = 0;   // operation count of the group at the last call of `tell`
};

}  // namespace rl_training
