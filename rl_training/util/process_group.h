#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rl_training {

// The processes that train one run together, as one of them sees them. All of them call the same
// operations in the same order, and each operation waits for all. Sums are formed in rank order, so
// results are bit-for-bit equal in every process and reproducible. A process that has ended or does
// not answer within the time-out causes Error{io}.
// If there is only one process, the group is a null pointer.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Replaces each value by its mean over the processes. All parts are sent as one message.
  virtual void average(std::span<const std::span<float>> parts) = 0;
  // Gathers a small text from each process; every process receives the same list, ordered by rank.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  // The same for large texts: only process 0 receives them; the others get an empty list.
  virtual std::vector<std::string> collect(const std::string& mine) = 0;

  // A word that this process sends with each of its operations from now on, and the words received
  // with the latest operation, by rank.
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

// Sums each value over the processes; without a group, returns the values.
std::vector<double> sum_over(ProcessGroup* group, std::vector<double> values);

// Seed of the random streams of one process; that of process 0 is the run's seed.
uint64_t seed_of_process(uint64_t seed, int rank);

}  // namespace rl_training
