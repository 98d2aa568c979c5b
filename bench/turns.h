#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/contenders.h"

namespace rl_training {

struct Entry {
  std::unique_ptr<Contender> contender;
  std::string name;
  std::vector<double> rates = {};  // work per second, one value per round
  bool may_fail = false;           // if true, an Error ends only the measurement of this contender
  std::string failure = {};
};

// Measures the contenders alternately, so that changes in the machine's speed affect all equally.
// Idle BLAS and OpenMP threads spin for a while before they go to sleep. The pause before each
// measurement therefore prevents threads of the previous contender from disturbing it.
void take_turns(std::vector<Entry>& entries, int64_t rounds, int64_t work,
                std::chrono::milliseconds pause);

// Time in seconds since an arbitrary point; never decreases.
double steady_seconds();
double seconds_of(const std::function<void()>& work);

double median(std::vector<double> values);

}  // namespace rl_training
