#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rl_training/runtime/stop_request.h"
#include "rl_training/util/json.h"

namespace rl_training {

// A call of this program in a separate process. The call prints one JSON object.
struct Job {
  std::string name;
  std::vector<std::string> arguments;
};

struct JobResult {
  // -1 if a stop request arrived before the job started; 128 + signal if a signal ended the job.
  int exit_code = -1;
  Json report;                        // the JSON object that the job printed; null if there is none
  std::vector<std::string> warnings;  // printed lines that begin with "warning: "
  double seconds = 0;

  bool stopped() const { return exit_code < 0 || exit_code > 128; }
};

struct LocalJobOptions {
  size_t jobs = 1;     // number of jobs that run at a time
  size_t threads = 1;  // threads per job
};

// Callbacks while jobs run. Each callback may be empty.
struct JobEvents {
  std::function<void(size_t job)> started;
  std::function<void(size_t job, const JobResult&)> ended;
  std::function<void()> tick;  // called about 20 times per second
};

// Numbers of the cores in the CPU affinity mask of this process.
std::vector<int> usable_cores();

// Runs the jobs in order, several at a time. Each job has its own cores if there are enough. A job
// that fails does not stop the others. Stop requests and checkpoint requests are forwarded to the
// running jobs. After a stop request, the function waits for these jobs to end.
std::vector<JobResult> run_jobs(const std::vector<Job>& jobs, const LocalJobOptions& options,
                                StopRequests& requests, const JobEvents& events);

}  // namespace rl_training
