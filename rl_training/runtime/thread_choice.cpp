#include "rl_training/runtime/thread_choice.h"

#include <algorithm>
#include <chrono>

namespace rl_training {
namespace {

constexpr size_t kRounds = 3;
// A turn times one candidate until both of these limits are reached.
constexpr int64_t kTurnUpdates = 3;
constexpr double kTurnSeconds = 0.01;
// More threads must save at least this fraction of the time, because they keep other cores busy.
constexpr double kLeastGain = 0.05;

}  // namespace

double ThreadChoice::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ThreadChoice::ThreadChoice(ThreadPool* pool, Clock clock) : pool_(pool), clock_(std::move(clock)) {
  if (pool_ == nullptr) return;
  const int most = pool_->capacity();
  for (int threads = 1; threads < most; threads *= 2) candidates_.push_back({threads});
  candidates_.push_back({most});
  chosen_ = most;
  if (most > 1) turns_ = kRounds * candidates_.size();
}

void ThreadChoice::begin_update() {
  if (pool_ == nullptr) return;
  pool_->resize(measuring() ? candidates_[turn_ % candidates_.size()].threads : chosen_);
  if (measuring()) begin_ = clock_();
}

void ThreadChoice::end_update() {
  if (!measuring()) return;
  if (updates_++ == 0) return;
  seconds_ += clock_() - begin_;
  const int64_t counted = updates_ - 1;
  if (counted >= kTurnUpdates && seconds_ >= kTurnSeconds) {
    end_turn(seconds_ / static_cast<double>(counted));
  }
}

void ThreadChoice::use_all() {
  if (pool_ != nullptr) pool_->resize(pool_->capacity());
}

void ThreadChoice::end_turn(double seconds_per_update) {
  Candidate& candidate = candidates_[turn_ % candidates_.size()];
  const bool first = candidate.seconds == 0.0;
  candidate.seconds = first ? seconds_per_update : std::min(candidate.seconds, seconds_per_update);
  updates_ = 0;
  seconds_ = 0.0;
  if (++turn_ == turns_) choose();
}

// Chooses the smallest number of threads that is nearly as fast as the fastest candidate.
void ThreadChoice::choose() {
  const auto faster = [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; };
  const double best = std::min_element(candidates_.begin(), candidates_.end(), faster)->seconds;
  const auto chosen = std::find_if(
      candidates_.begin(), candidates_.end(),
      [&](const Candidate& each) { return each.seconds * (1.0 - kLeastGain) <= best; });
  chosen_ = chosen->threads;
}

}  // namespace rl_training
