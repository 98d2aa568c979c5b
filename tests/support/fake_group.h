#pragma once
#include <functional>

#include "rl_training/util/process_group.h"

namespace rl_training {

// A process group whose other processes do not exist. A test defines what they contribute.
class FakeGroup final : public ProcessGroup {
 public:
  explicit FakeGroup(int size, int rank = 0) : ProcessGroup(rank, size) {}

  // Returns the average of one value over all processes. `at` is the index of the value in the
  // message, and `mine` is the value of this process.
  std::function<float(size_t at, float mine)> mean = [](size_t, float mine) { return mine; };
  std::vector<size_t> messages;        // number of values in each call of average()
  std::vector<int32_t> others_say;     // words of the other processes, ordered by rank
  std::vector<std::string> exchanged;  // texts that this process sent

  void average(std::span<const std::span<float>> parts) override {
    size_t at = 0;
    for (const auto& part : parts) {
      for (float& value : part) value = mean(at++, value);
    }
    messages.push_back(at);
    end_operation();
  }
  std::vector<std::string> exchange(const std::string& mine) override {
    exchanged.push_back(mine);
    end_operation();
    return std::vector<std::string>(static_cast<size_t>(size_), mine);
  }
  std::vector<std::string> collect(const std::string& mine) override { return exchange(mine); }

 private:
  void end_operation() {
    ++operations_;
    for (size_t i = 0, other = 0; i < words_.size(); ++i) {
      const bool mine = static_cast<int>(i) == rank_;
      words_[i] = mine ? word_ : other < others_say.size() ? others_say[other++] : 0;
    }
  }
};

}  // namespace rl_training
