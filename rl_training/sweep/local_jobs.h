#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rl_training/runtime/stop_request.h"
#include "rl_training/util/json.h"

namespace rl_training {

// A call of this program in a separate process, which prints one JSON object on stdout.
struct Job {
  std::string name;
  std::vector<std::string> arguments;
};

struct JobResult {
  // -1 if a signal arrived before it was started; 128 + signal if a signal ended it.
  int exit_code = -1;
  Json report;                        // its output; null if it is not an object
  std::vector<std::string> warnings;  // other lines of its stderr
  double seconds = 0;

  bool stopped() const { return exit_code < 0 || exit_code > 128; }
};

struct LocalJobOptions {
  size_t jobs = 1;     // number of jobs at a time
  size_t threads = 1;  // of each
};

// Callbacks while jobs run. Each may be empty.
struct JobEvents {
  std::function<void(size_t job)> started;
  std::function<void(size_t job, const JobResult&)> ended;
  std::function<void()> tick;  // called about ten times per second
};

// Cores that this process may use.
std::vector<int> usable_cores();

// Runs the jobs in order, several at a time. Each has its own cores if there are enough. One
// that fails does not stop the others. Requests to stop and requests for checkpoints are forwarded
// to the running jobs; after a request to stop, the function waits for them.
std::vector<JobResult> run_jobs(const std::vector<Job>& jobs, const LocalJobOptions& options,
                                StopRequests& requests, const JobEvents& events);

}  // namespace rl_training
