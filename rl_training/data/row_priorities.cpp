#include "rl_training/data/row_priorities.h"

#include <array>

namespace rl_training {

void RowPriorities::set(int64_t place, double priority) {
  size_t node = leaf(place);
  sums_[node] = priority;
  for (node /= 2; node > 0; node /= 2) sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
}

void RowPriorities::sum_up() {
  for (size_t node = sums_.size() / 2 - 1; node > 0; --node) {
    sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
  }
}

void RowPriorities::grow(int64_t size) {
  if (size == size_) return;
  const size_t wanted = static_cast<size_t>(size), leaves = sums_.size() / 2;
  if (wanted > leaves) {
    size_t more = leaves;
    while (more < wanted) more *= 2;
    std::vector<double> sums(2 * more);
    std::copy_n(sums_.begin() + static_cast<int64_t>(leaves), size_,
                sums.begin() + static_cast<int64_t>(more));
    sums_ = std::move(sums);
  }
  for (int64_t place = size_; place < size; ++place) sums_[leaf(place)] = largest_;
  size_ = size;
  sum_up();
}

void RowPriorities::update(std::span<const int64_t> places, std::span<const float> priorities) {
  for (size_t i = 0; i < places.size(); ++i) {
    set(places[i], priorities[i]);
    largest_ = std::max(largest_, static_cast<double>(priorities[i]));
  }
  if (++updates_ % reset_interval_ != 0) return;
  const auto first = sums_.begin() + static_cast<int64_t>(sums_.size() / 2);
  largest_ = *std::max_element(first, first + size_);
}

int64_t RowPriorities::draw(Rng& rng) const {
  double rest = rng.uniform() * sums_[1];
  size_t node = 1;
  while (node < sums_.size() / 2) {
    node *= 2;
    // The second condition prevents a rounding error from selecting an empty right subtree.
    if (rest < sums_[node] || sums_[node + 1] == 0) continue;
    rest -= sums_[node];
    ++node;
  }
  return static_cast<int64_t>(node - sums_.size() / 2);
}

void RowPriorities::visit_state(StateVisitor& state) {
  state.scalar("updates", updates_);
  state.scalar("largest", largest_);
  const std::array<int64_t, 1> shape = {size_};
  state.array("values", DType::f64, shape, sums_.data() + sums_.size() / 2);
  sum_up();
}

}  // namespace rl_training
