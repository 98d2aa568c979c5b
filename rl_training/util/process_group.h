#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rl_training {

// The processes that train one run together, as one of them sees them. All of them call the same
// operations in the same order, and each operation waits for all. Sums are formed in the order of
// ranks, so that results are equal in every process, bit for bit, and repeat. A process that has
// ended or does not answer within the time-out is Error{io}.
//
// If there is only one process there is no group: a null pointer.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Each value becomes the mean over the processes. The parts travel as one message.
  virtual void average(std::span<const std::span<float>> parts) = 0;
  // What each process gives, by rank; the same list in every process. For small texts.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  // The same for large ones: process 0 alone receives them, the others get an empty list.
  virtual std::vector<std::string> collect(const std::string& mine) = 0;

  // A word that this process sends along with each of its operations from now on, and the words
  // that came with the latest operation, by rank.
  void say(int32_t word) { word_ = word; }
  const std::vector<int32_t>& words() const { return words_; }
  int64_t operations() const { return operations_; }

 protected:
  ProcessGroup(int rank, int size) : rank_(rank), size_(size), words_(static_cast<size_t>(size)) {}

  int rank_, size_;
  int32_t word_ = 0;
  std::vector<int32_t> words_;
  int64_t operations_ = 0;
};

inline int process_count(const ProcessGroup* group) { return group == nullptr ? 1 : group->size(); }
inline int process_rank(const ProcessGroup* group) { return group == nullptr ? 0 : group->rank(); }

// The sum of each value over the processes; without a group the values themselves.
std::vector<double> sum_over(ProcessGroup* group, std::vector<double> values);

// The seed of the random streams that belong to one process alone. That of process 0 is the run's.
uint64_t seed_of_process(uint64_t seed, int rank);

}  // namespace rl_training
