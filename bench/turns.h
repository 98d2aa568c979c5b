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
  std::vector<double> rates = {};  // work a second, one for each round
  bool may_fail = false;           // then an Error ends its turns, not the measurement
  std::string failure = {};
};

// Contenders take turns, so that a change of the machine's mood meets all of them. The pause before
// each turn lets idle threads of the one before go to sleep: BLAS and OpenMP spin for a while
// first.
void take_turns(std::vector<Entry>& entries, int64_t rounds, int64_t work,
                std::chrono::milliseconds pause);

double seconds_of(const std::function<void()>& work);

double median(std::vector<double> values);

}  // namespace rl_training
