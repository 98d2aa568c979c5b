#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rl_training {

// The processes that train one run together. Each process has its own object of this class. All
// processes must call the same operations in the same order, and each operation waits for all
// processes. Sums are computed in rank order, so results are reproducible and bit-for-bit equal in
// every process. Operations throw Error{io} if a process has ended or does not answer within the
// time-out.
//
// If there is only one process, functions receive a null pointer instead of a group.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Replaces each value by its mean over the processes. All parts are averaged in one operation.
  virtual void average(std::span<const std::span<float>> parts) = 0;
  // Gathers a small text from each process; every process receives the same list, ordered by rank.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  // Gathers a large text from each process. Only process 0 receives the texts; the other processes
  // receive an empty list.
  virtual std::vector<std::string> collect(const std::string& mine) = 0;

  // say() sets a number (the word) that this process sends with each of its later operations.
  // words() returns the words that all processes sent with the latest operation, ordered by rank.
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

// Sums each value over the processes. Without a group, returns the values unchanged.
std::vector<double> sum_over(ProcessGroup* group, std::vector<double> values);

// The seed for the random streams of one process. Process 0 uses the seed of the run.
uint64_t seed_of_process(uint64_t seed, int rank);

}  // namespace rl_training
