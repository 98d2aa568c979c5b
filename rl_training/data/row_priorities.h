#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/util/rng.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Draws places in proportion to their priorities, as LAP does (arXiv:2007.06049). New places get
// the largest priority so far; every `reset_interval` updates that is looked up anew, so that large
// ones of the past are forgotten. Priorities are kept in a tree of sums, each the sum of its two
// children: what is drawn depends on the priorities alone, not on the order in which they were set.
class RowPriorities {
 public:
  explicit RowPriorities(int64_t reset_interval) : reset_interval_(reset_interval) {}

  int64_t size() const { return size_; }
  float at(int64_t place) const { return static_cast<float>(sums_[leaf(place)]); }
  // Places from size() on are new.
  void grow(int64_t size);
  // A place that is new again, or one that is never drawn.
  void renew(int64_t place) { set(place, largest_); }
  void remove(int64_t place) { set(place, 0); }
  // After an update: of each place that was drawn for it.
  void update(std::span<const int64_t> places, std::span<const float> priorities);
  int64_t draw(Rng& rng) const;

  // As many priorities as there are places: those are known when a run is resumed.
  void visit_state(StateVisitor& state);

 private:
  size_t leaf(int64_t place) const { return sums_.size() / 2 + static_cast<size_t>(place); }
  void set(int64_t place, double priority);
  void sum_up();

  int64_t reset_interval_, size_ = 0, updates_ = 0;
  double largest_ = 1;
  std::vector<double> sums_ = {0, 0};  // from 1: the root; the second half are the leaves
};

}  // namespace rl_training
