#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rl_training/runtime/stop_request.h"
#include "rl_training/util/json.h"

namespace rl_training {

// A call of this program in a separate process. It prints one JSON object on stdout.
struct Job {
  std::string name;
  std::vector<std::string> arguments;
};

struct JobResult {
  // -1: not started, since a signal came first. 128 + signal where one ended it.
  int exit_code = -1;
  Json report;                        // what it printed; null if that is no object
  std::vector<std::string> warnings;  // its other lines
  double seconds = 0;

  bool stopped() const { return exit_code < 0 || exit_code > 128; }
};

struct LocalJobOptions {
  size_t jobs = 1;     // at a time
  size_t threads = 1;  // of each
};

// What a caller hears while jobs run. Each may be empty.
struct JobEvents {
  std::function<void(size_t job)> started;
  std::function<void(size_t job, const JobResult&)> ended;
  std::function<void()> tick;  // some ten times a second
};

// Cores that this process may use.
std::vector<int> usable_cores();

// Runs the jobs in order, several at a time. Each has its own cores if there are enough. One
// that fails does not stop the others. A request to stop is passed on, and all running jobs are
// waited for; a request for checkpoints is passed on, too.
std::vector<JobResult> run_jobs(const std::vector<Job>& jobs, const LocalJobOptions& options,
                                StopRequests& requests, const JobEvents& events);

}  // namespace rl_training
