#include "rl_training/sweep/local_jobs.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <sstream>

#include "rl_training/sweep/child_process.h"
#include "rl_training/util/scratch_directory.h"

namespace rl_training {
namespace {

constexpr int kPauseMilliseconds = 50;
using Clock = std::chrono::steady_clock;

struct RunningJob {
  size_t job = 0, slot = 0;
  std::unique_ptr<ChildProcess> process;
  Clock::time_point started;
};

JobResult result_of(RunningJob& running) {
  JobResult result;
  result.exit_code = running.process->wait();
  result.seconds = std::chrono::duration<double>(Clock::now() - running.started).count();
  std::istringstream lines(running.process->output());
  for (std::string line; std::getline(lines, line);) {
    auto json = line.starts_with('{') ? parse_untrusted_json(line) : Json();
    if (json.is_object()) {
      result.report = std::move(json);
    } else if (line.starts_with("warning: ")) {
      result.warnings.push_back(line);
    }
  }
  return result;
}

class JobPool {
 public:
  JobPool(const std::vector<Job>& jobs, const LocalJobOptions& options, StopRequests& requests,
          const JobEvents& events)
      : jobs_(jobs),
        options_(options),
        requests_(requests),
        events_(events),
        cores_(usable_cores()) {
    results_.resize(jobs.size());
  }

  std::vector<JobResult> run() {
    while (!running_.empty() || (next_ < jobs_.size() && requests_.stop() == 0)) {
      while (running_.size() < options_.jobs && next_ < jobs_.size() && requests_.stop() == 0) {
        start(next_++);
      }
      pass_on_requests();
      collect();
      if (events_.tick) events_.tick();
      ::poll(nullptr, 0, kPauseMilliseconds);
    }
    return std::move(results_);
  }

 private:
  void start(size_t job) {
    RunningJob running;
    running.job = job;
    running.slot = free_slot();
    running.started = Clock::now();
    ChildOptions child{.cores = cores_of(running.slot), .parent_death = SIGTERM, .own_group = true};
    running.process = std::make_unique<ChildProcess>(jobs_[job].arguments,
                                                     output_.file(std::to_string(job)), child);
    running_.push_back(std::move(running));
    if (events_.started) events_.started(job);
  }

  size_t free_slot() const {
    size_t slot = 0;
    const auto taken = [&](const RunningJob& running) { return running.slot == slot; };
    while (std::any_of(running_.begin(), running_.end(), taken)) ++slot;
    return slot;
  }

  std::vector<int> cores_of(size_t slot) const {
    // If there are too few cores, jobs are not pinned, so that the kernel can move them between
    // cores.
    if (options_.jobs * options_.threads > cores_.size()) return {};
    const auto first = cores_.begin() + static_cast<ptrdiff_t>(slot * options_.threads);
    return {first, first + static_cast<ptrdiff_t>(options_.threads)};
  }

  void pass_on_requests() {
    const bool save = requests_.take_checkpoint();
    const bool stop = requests_.stop() != 0 && !stop_sent_;
    stop_sent_ = stop_sent_ || stop;
    for (const auto& running : running_) {
      if (save) running.process->send(SIGUSR1);
      if (stop) running.process->send(SIGTERM);
    }
  }

  void collect() {
    for (size_t i = 0; i < running_.size();) {
      if (!running_[i].process->ended()) {
        ++i;
        continue;
      }
      const size_t job = running_[i].job;
      results_[job] = result_of(running_[i]);
      running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
      if (events_.ended) events_.ended(job, results_[job]);
    }
  }

  const std::vector<Job>& jobs_;
  const LocalJobOptions& options_;
  StopRequests& requests_;
  const JobEvents& events_;
  const std::vector<int> cores_;
  ScratchDirectory output_;
  std::vector<JobResult> results_;
  std::vector<RunningJob> running_;
  size_t next_ = 0;
  bool stop_sent_ = false;
};

}  // namespace

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<JobResult> run_jobs(const std::vector<Job>& jobs, const LocalJobOptions& options,
                                StopRequests& requests, const JobEvents& events) {
  return JobPool(jobs, options, requests, events).run();
}

}  // namespace rl_training
