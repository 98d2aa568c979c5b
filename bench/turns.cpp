#include "bench/turns.h"

#include <algorithm>
#include <thread>

#include "rl_training/util/error.h"

namespace rl_training {

void take_turns(std::vector<Entry>& entries, int64_t rounds, int64_t work,
                std::chrono::milliseconds pause) {
  for (int64_t round = -1; round < rounds; ++round) {  // round -1 is a warm-up
    for (auto& entry : entries) {
      if (!entry.failure.empty()) continue;
      if (pause.count() > 0) std::this_thread::sleep_for(pause);
      try {
        const double rate = static_cast<double>(work) / entry.contender->seconds_for(work);
        if (round >= 0) entry.rates.push_back(rate);
      } catch (const Error& error) {
        if (!entry.may_fail) throw;
        entry.failure = error.what();
      }
    }
  }
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(const std::function<void()>& work) {
  const double start = steady_seconds();
  work();
  return steady_seconds() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace rl_training
