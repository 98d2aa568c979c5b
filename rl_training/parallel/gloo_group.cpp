// A process group that communicates over TCP with Gloo. Compiled only if libgloo-dev is installed.
#include <gloo/allgather.h>
#include <gloo/alltoall.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "rl_training/parallel/join.h"
#include "rl_training/parallel/shared_slots.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// With at least this number of processes, each process averages one part of the values and sends
// the result to all others. This transfers less data than sending every value to every process.
constexpr int kProcessesForParts = 4;
// If there are fewer values than this, each process sends all of them to every other process in one
// message, whatever the number of processes. Shared memory is used only for at least this number.
constexpr size_t kManyValues = 4096;
// Sums over all slots are computed in blocks of this number of values, which stay in the cache.
constexpr size_t kSumBlock = 4096;
// Maximum number of bytes of a text in the first message of an exchange. Longer texts need a second
// message.
constexpr size_t kInlineText = 240;

class Store final : public gloo::rendezvous::Store {
 public:
  explicit Store(Rendezvous& rendezvous) : rendezvous_(rendezvous) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    rendezvous_.set(key, {data.begin(), data.end()});
  }
  std::vector<char> get(const std::string& key) override {
    const auto value = rendezvous_.get(key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const auto& key : keys) rendezvous_.get(key);
  }

 private:
  Rendezvous& rendezvous_;
};

// Removes the source position from a message such as
// "[./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:4711".
std::string reason_of(const std::exception& error) {
  std::string text = error.what();
  const auto end = text.find("] ");
  if (text.starts_with('[') && end != std::string::npos) text = text.substr(end + 2);
  return text.substr(0, text.find('\n'));
}

class GlooGroup final : public ProcessGroup {
 public:
  GlooGroup(const ProcessPlace& place, Rendezvous& rendezvous)
      : ProcessGroup(place.rank, place.size),
        timeout_(place.timeout),
        one_machine_(place.master == kLoopback),
        context_(std::make_shared<gloo::rendezvous::Context>(place.rank, place.size)) {
    guarded([&] {
      context_->setTimeout(timeout_);
      gloo::transport::tcp::attr attributes;
      const auto& own = place.interface;
      if (own.empty()) {
        attributes.hostname = rendezvous.local_address();
      } else if (own.find_first_of(".:") == std::string::npos) {
        attributes.iface = own;
      } else {
        attributes.hostname = own;
      }
      auto device = gloo::transport::tcp::CreateDevice(attributes);
      Store store(rendezvous);
      context_->connectFullMesh(store, device);
    });
  }

  void average(std::span<const std::span<float>> parts) override {
    size_t count = 0;
    for (const auto& part : parts) count += part.size();
    if (count >= kManyValues && share_memory(count)) {
      average_in_memory(parts);
    } else {
      average_by_messages(parts, count);
    }
    ++operations_;
  }

  std::vector<std::string> exchange(const std::string& mine) override {
    struct Frame {
      uint64_t size;
      int32_t word, unused;
      char text[kInlineText];
    };
    Frame frame = {mine.size(), word_, 0, {}};
    if (mine.size() <= kInlineText) std::memcpy(frame.text, mine.data(), mine.size());
    std::vector<Frame> frames(static_cast<size_t>(size_));
    all_gather(&frame, sizeof(Frame), frames.data());
    size_t longest = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
      words_[i] = frames[i].word;
      longest = std::max(longest, static_cast<size_t>(frames[i].size));
    }
    std::vector<std::string> texts;
    if (longest <= kInlineText) {
      for (const auto& each : frames) texts.emplace_back(each.text, each.size);
    } else {
      std::string padded = mine;
      padded.resize(longest);
      std::string all(longest * frames.size(), '\0');
      all_gather(padded.data(), longest, all.data());
      for (size_t i = 0; i < frames.size(); ++i) {
        texts.push_back(all.substr(i * longest, frames[i].size));
      }
    }
    ++operations_;
    return texts;
  }

  std::vector<std::string> collect(const std::string& mine) override {
    const auto sizes = exchange(std::to_string(mine.size()));
    const auto slot = static_cast<uint64_t>(context_->nextSlot());
    std::vector<std::string> texts;
    guarded([&] {
      if (rank_ > 0) {
        if (mine.empty()) return;
        const auto buffer =
            context_->createUnboundBuffer(const_cast<char*>(mine.data()), mine.size());
        buffer->send(0, slot);
        buffer->waitSend(timeout_);
        return;
      }
      texts.push_back(mine);
      for (int rank = 1; rank < size_; ++rank) {
        std::string text(std::stoull(sizes[static_cast<size_t>(rank)]), '\0');
        if (!text.empty()) {
          const auto buffer = context_->createUnboundBuffer(text.data(), text.size());
          buffer->recv(rank, slot);
          buffer->waitRecv(timeout_);
        }
        texts.push_back(std::move(text));
      }
    });
    return texts;
  }

 private:
  // Allocates memory for `count` values that all processes share, if they run on one machine.
  // Returns whether all processes succeeded, so the result is the same in every process.
  bool share_memory(size_t count) {
    if (!one_machine_ || (slots_ != nullptr && slots_->values() >= count)) return one_machine_;
    slots_ = rank_ == 0 ? SharedSlots::create(size_, count) : nullptr;
    const auto mine = slots_ != nullptr ? slots_->handle() : SharedSlots::Handle();
    std::vector<SharedSlots::Handle> handles(static_cast<size_t>(size_));
    all_gather(&mine, sizeof(mine), handles.data());
    if (rank_ > 0) slots_ = SharedSlots::open(handles.front(), size_, count);
    const char opened = slots_ != nullptr ? 1 : 0;
    std::string all(static_cast<size_t>(size_), '\0');
    all_gather(&opened, 1, all.data());
    one_machine_ = all.find('\0') == std::string::npos;
    if (!one_machine_) slots_.reset();
    return one_machine_;
  }

  // Each process alternates between its two slots. In the previous call, all_gather waited for all
  // processes, so no process still reads the values that this slot contained two calls ago.
  void average_in_memory(std::span<const std::span<float>> parts) {
    float* mine = slots_->slot(rank_, turn_);
    for (const auto& part : parts) mine = std::copy(part.begin(), part.end(), mine);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    all_gather(&word_, sizeof(word_), words_.data());
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const float share = 1.0f / static_cast<float>(size_);
    size_t at = 0;  // index of the first value of the current block in every slot
    for (const auto& part : parts) {
      for (size_t done = 0; done < part.size();) {
        const size_t count = std::min(kSumBlock, part.size() - done);
        float* out = part.data() + done;
        std::copy_n(slots_->slot(0, turn_) + at, count, out);
        for (int rank = 1; rank < size_; ++rank) {
          const float* row = slots_->slot(rank, turn_) + at;
          for (size_t i = 0; i < count; ++i) out[i] += row[i];
        }
        for (size_t i = 0; i < count; ++i) out[i] *= share;
        done += count;
        at += count;
      }
    }
    ++turn_;
  }

  void average_by_messages(std::span<const std::span<float>> parts, size_t count) {
    values_.resize(count);
    float* at = values_.data();
    for (const auto& part : parts) at = std::copy(part.begin(), part.end(), at);
    if (size_ < kProcessesForParts || count < kManyValues) {
      average_whole();
    } else {
      average_by_parts();
    }
    const float* from = values_.data();
    for (const auto& part : parts) {
      std::copy_n(from, part.size(), part.begin());
      from += part.size();
    }
  }

  // Every process receives all values of all other processes.
  void average_whole() {
    const size_t count = values_.size(), stride = count + 1;
    sent_.resize(stride);
    std::copy(values_.begin(), values_.end(), sent_.begin());
    std::memcpy(sent_.data() + count, &word_, sizeof(word_));
    received_.resize(stride * static_cast<size_t>(size_));
    all_gather(sent_.data(), stride * sizeof(float), received_.data());
    mean_of_rows(stride, count, values_.data());
  }

  void average_by_parts() {
    const auto processes = static_cast<size_t>(size_);
    const size_t part = (values_.size() + processes - 1) / processes, stride = part + 1;
    values_.resize(part * processes, 0.0f);
    sent_.resize(stride * processes);
    received_.resize(stride * processes);
    for (size_t i = 0; i < processes; ++i) {
      std::copy_n(values_.data() + i * part, part, sent_.data() + i * stride);
      std::memcpy(sent_.data() + i * stride + part, &word_, sizeof(word_));
    }
    guarded([&] {
      gloo::AlltoallOptions options(context_);
      options.setInput(sent_.data(), sent_.size());
      options.setOutput(received_.data(), received_.size());
      options.setTag(static_cast<uint32_t>(context_->nextSlot()));
      gloo::alltoall(options);
    });
    mean_of_rows(stride, part, sent_.data());
    all_gather(sent_.data(), part * sizeof(float), values_.data());
  }

  // Computes the mean of the received messages. Each message consists of `count` values and the
  // number that its sender passed to ProcessGroup::say.
  void mean_of_rows(size_t stride, size_t count, float* out) {
    const float share = 1.0f / static_cast<float>(size_);
    std::copy_n(received_.data(), count, out);
    for (size_t k = 0; k < static_cast<size_t>(size_); ++k) {
      const float* row = received_.data() + k * stride;
      std::memcpy(&words_[k], row + count, sizeof(int32_t));
      if (k == 0) continue;
      for (size_t i = 0; i < count; ++i) out[i] += row[i];
    }
    for (size_t i = 0; i < count; ++i) out[i] *= share;
  }

  void all_gather(const void* mine, size_t bytes, void* all) {
    guarded([&] {
      gloo::AllgatherOptions options(context_);
      options.setInput(static_cast<char*>(const_cast<void*>(mine)), bytes);
      options.setOutput(static_cast<char*>(all), bytes * static_cast<size_t>(size_));
      options.setTag(static_cast<uint32_t>(context_->nextSlot()));
      gloo::allgather(options);
    });
  }

  template <class Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(ErrorKind::io, {"process " + std::to_string(rank_), 0, ""},
                  "lost another process of this run (" + reason_of(error) +
                      "); the last checkpoint is kept, from which the same number of processes can "
                      "resume");
    }
  }

  Milliseconds timeout_;
  bool one_machine_;  // set to false if memory cannot be shared
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::vector<float> values_, sent_, received_;  // buffers that every call reuses
  std::unique_ptr<SharedSlots> slots_;
  int64_t turn_ = 0;  // number of calls of average_in_memory; its parity selects the slot
};

}  // namespace

std::unique_ptr<ProcessGroup> join_processes(const ProcessPlace& place,
                                             std::unique_ptr<RendezvousServer> server) {
  if (place.size == 1) return nullptr;
  std::unique_ptr<Rendezvous> rendezvous = std::move(server);
  if (rendezvous == nullptr && place.rank == 0) {
    rendezvous = std::make_unique<RendezvousServer>(place.master, place.port, place.timeout);
  } else if (rendezvous == nullptr) {
    rendezvous = std::make_unique<RendezvousClient>(place.master, place.port, place.timeout);
  }
  auto group = std::make_unique<GlooGroup>(place, *rendezvous);
  // Waits until all processes are connected, because the store in process 0 is destroyed afterwards
  // and the others look up addresses in it.
  group->exchange("");
  return group;
}

bool processes_available() { return true; }

}  // namespace rl_training
