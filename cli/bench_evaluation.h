#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

// `bench --evaluation RUN`: measures the speed of evaluation twice, with 10 episodes at a time and
// with one episode at a time.
void run_evaluation_bench(const std::string& run, int64_t rounds, bool json);

}  // namespace rl_training
