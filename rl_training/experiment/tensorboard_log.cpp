#include "rl_training/experiment/tensorboard_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "rl_training/util/file_system.h"
#include "rl_training/util/hash.h"
#include "tensorboard_event.pb.h"

namespace rl_training {
namespace {

constexpr int kStringType = 7;  // DT_STRING
constexpr std::string_view kFilePrefix = "events.out.tfevents.";

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

template <class Number>
std::string_view bytes_of(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

std::vector<std::string> event_files(const std::string& directory) {
  auto names = posix_file_system().list_directory(directory);
  std::erase_if(names, [](const std::string& name) { return !name.starts_with(kFilePrefix); });
  return names;
}

// TensorBoard reads the files in the order of their names. A new file must therefore sort after all
// earlier files, even if two sessions start within a second or the clock was set back.
std::string new_file_name(const std::vector<std::string>& earlier) {
  auto seconds = static_cast<int64_t>(wall_clock());
  for (const auto& name : earlier) {
    const int64_t stamp = std::strtoll(name.c_str() + kFilePrefix.size(), nullptr, 10);
    seconds = std::max(seconds, stamp + 1);
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '-';
  return fmt::format("{}{}.{}.{}.0", kFilePrefix, seconds, host.data(), ::getpid());
}

}  // namespace

std::string tensorboard_tag(const std::string& metric) {
  for (const std::string prefix : {"eval_", "validation_", "train_"}) {
    if (metric.starts_with(prefix)) {
      return prefix.substr(0, prefix.size() - 1) + "/" + metric.substr(prefix.size());
    }
  }
  if (metric == "normalized_score") return "eval/" + metric;
  for (const char* clock :
       {"global_step", "update_count", "epoch", "episodes", "updates_per_second"}) {
    if (metric == clock) return "time/" + metric;
  }
  return "train/" + metric;
}

TensorBoardLog::TensorBoardLog(const std::string& directory, int64_t start_step) {
  posix_file_system().make_directories(directory);
  const auto earlier = event_files(directory);
  file_ = std::make_unique<AppendFile>(directory + "/" + new_file_name(earlier));

  tensorboard::Event event;
  event.set_wall_time(wall_clock());
  event.set_file_version("brain.Event:2");
  append(event.SerializeAsString());
  // At every START event except the first, TensorBoard drops all rows at or after the step of the
  // event. A resumed run must keep the row of the checkpoint's step, so its event has the next
  // step. A new run also needs a START event, so that the event of a resumed run is not the first.
  event.set_step(start_step > 0 ? start_step + 1 : 0);
  event.mutable_session_log()->set_status(tensorboard::SessionLog::START);
  append(event.SerializeAsString());
}

void TensorBoardLog::write(int64_t step, const Json& row) {
  tensorboard::Event event;
  event.set_wall_time(wall_clock());
  event.set_step(step);
  for (const auto& [key, value] : row.items()) {
    if (!value.is_number()) continue;
    auto* scalar = event.mutable_summary()->add_value();
    scalar->set_tag(tensorboard_tag(key));
    scalar->set_simple_value(value.get<float>());
  }
  if (event.has_summary()) append(event.SerializeAsString());
}

void TensorBoardLog::write_text(const std::string& tag, const std::string& text) {
  std::string block = "    ";  // an indented Markdown block preserves the lines of the text
  for (const char c : text) block += c == '\n' ? std::string("\n    ") : std::string(1, c);
  tensorboard::Event event;
  event.set_wall_time(wall_clock());
  auto* value = event.mutable_summary()->add_value();
  value->set_tag(tag + "/text_summary");
  value->mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  value->mutable_tensor()->set_dtype(kStringType);
  value->mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(1);
  value->mutable_tensor()->add_string_val(block);
  append(event.SerializeAsString());
}

void TensorBoardLog::flush() { file_->sync(); }

void TensorBoardLog::append(std::string_view payload) {
  const uint64_t length = payload.size();
  std::string record;
  record += bytes_of(length);
  record += bytes_of(masked_crc(bytes_of(length)));
  record += payload;
  record += bytes_of(masked_crc(payload));
  file_->append(size_, record);
  size_ += record.size();
}

}  // namespace rl_training
