#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/util/rng.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Draws indices with probabilities proportional to their priorities, as in LAP (arXiv:2007.06049).
// New indices get the largest priority so far. After every `reset_interval` updates, this maximum
// is recomputed from the current priorities, so that an old outlier has no lasting effect.
// Priorities are stored in a tree in which each node is the sum of its two children. Draws
// therefore depend only on the priorities, not on the order in which they were set.
class RowPriorities {
 public:
  explicit RowPriorities(int64_t reset_interval) : reset_interval_(reset_interval) {}

  int64_t size() const { return size_; }
  float at(int64_t place) const { return static_cast<float>(sums_[leaf(place)]); }
  // Adds new indices, from the old size() up to `size` - 1.
  void grow(int64_t size);
  // renew() sets the priority of an index to that of a new index. After remove(), an index is not
  // drawn until its priority is set again.
  void renew(int64_t place) { set(place, largest_); }
  void remove(int64_t place) { set(place, 0); }
  // Sets the priorities of the indices that were drawn for a gradient update.
  void update(std::span<const int64_t> places, std::span<const float> priorities);
  int64_t draw(Rng& rng) const;

  // Visits one priority per index. Call grow() first when a run is resumed, because the number of
  // indices is not saved.
  void visit_state(StateVisitor& state);

 private:
  size_t leaf(int64_t place) const { return sums_.size() / 2 + static_cast<size_t>(place); }
  void set(int64_t place, double priority);
  void sum_up();

  int64_t reset_interval_, size_ = 0, updates_ = 0;
  double largest_ = 1;
  std::vector<double> sums_ = {0, 0};  // the root is at 1; the second half contains the leaves
};

}  // namespace rl_training
