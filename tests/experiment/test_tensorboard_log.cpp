#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "rl_training/experiment/tensorboard_log.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/hash.h"
#include "tensorboard_event.pb.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_tensorboard_log {
namespace {

using tensorboard::Event;

uint32_t read_u32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Reverses the mask instead of applying it, so that the test shares no code with the writer.
uint32_t unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

std::vector<std::string> read_records(const std::string& bytes) {
  std::vector<std::string> records;
  size_t at = 0;
  while (at < bytes.size()) {
    uint64_t length = 0;
    if (bytes.size() - at < 16) throw std::runtime_error("torn record");
    std::memcpy(&length, bytes.data() + at, 8);
    EXPECT_EQ(unmask(read_u32(bytes, at + 8)), crc32c(bytes.substr(at, 8)));
    if (length > bytes.size() - at - 16) throw std::runtime_error("torn record");
    records.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(unmask(read_u32(bytes, at + 12 + length)), crc32c(records.back()));
    at += 16 + length;
  }
  return records;
}

std::vector<Event> read_events(const std::string& path) {
  std::vector<Event> events;
  for (const auto& record : read_records(read_all(path))) {
    events.emplace_back();
    EXPECT_TRUE(events.back().ParseFromString(record));
  }
  return events;
}

std::vector<std::string> event_paths(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& name : posix_file_system().list_directory(directory)) {
    paths.push_back(directory + "/" + name);
  }
  return paths;
}

TEST(TensorBoardLog, WritesTheExpectedBytes) {
  const TemporaryDirectory run;
  TensorBoardLog log(run / "tensorboard", 0);
  log.write(300, {{"critic_loss", 0.5}, {"note", "text"}, {"flag", true}, {"zero", 0}});
  log.write(400, {{"note", "nothing to draw"}, {"gone", nullptr}});
  log.flush();
  const auto paths = event_paths(run / "tensorboard");
  ASSERT_EQ(paths.size(), 1U);
  const std::string name = std::filesystem::path(paths[0]).filename().string();
  EXPECT_TRUE(name.starts_with("events.out.tfevents.")) << name;
  EXPECT_GT(std::stoll(name.substr(20)), 1600000000) << name;
  EXPECT_TRUE(name.ends_with("." + std::to_string(::getpid()) + ".0")) << name;
  const auto records = read_records(read_all(paths[0]));
  ASSERT_EQ(records.size(), 3U);
  // wall_time is field 1: the byte 0x09, then 8 bytes. All bytes after it are known.
  EXPECT_EQ(records[0][0], '\x09');
  EXPECT_EQ(records[0].substr(9),
            "\x1a\x0d"
            "brain.Event:2");
  EXPECT_EQ(records[1][0], '\x09');
  EXPECT_EQ(records[1].substr(9), "\x3a\x02\x08\x01");  // session_log START at step 0
  EXPECT_EQ(records[2][0], '\x09');
  const std::string loss =
      std::string("\x0a\x11", 2) + "train/critic_loss" + std::string("\x15\x00\x00\x00\x3f", 5);
  const std::string zero =
      std::string("\x0a\x0a", 2) + "train/zero" + std::string("\x15\x00\x00\x00\x00", 5);
  std::string summary = "\x0a" + std::string(1, static_cast<char>(loss.size())) + loss;
  summary += "\x0a" + std::string(1, static_cast<char>(zero.size())) + zero;
  EXPECT_EQ(records[2].substr(9),
            std::string("\x10\xac\x02\x2a") + static_cast<char>(summary.size()) + summary);
}

TEST(TensorBoardLog, ValuesComeBack) {
  const TemporaryDirectory run;
  TensorBoardLog log(run.path(), 0);
  log.write(1, {{"a", 1.25}, {"b", -3}, {"c", std::nan("")}});
  const auto events = read_events(event_paths(run.path()).at(0));
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_GT(events[0].wall_time(), 1.6e9);
  EXPECT_EQ(events[2].step(), 1);
  const auto& values = events[2].summary().value();
  ASSERT_EQ(values.size(), 3);
  EXPECT_EQ(values[0].tag(), "train/a");
  EXPECT_EQ(values[0].simple_value(), 1.25F);
  EXPECT_EQ(values[1].simple_value(), -3.0F);
  EXPECT_TRUE(std::isnan(values[2].simple_value()));
}

TEST(TensorBoardLog, TagsAreInGroups) {
  EXPECT_EQ(tensorboard_tag("eval_return_mean"), "eval/return_mean");
  EXPECT_EQ(tensorboard_tag("normalized_score"), "eval/normalized_score");
  EXPECT_EQ(tensorboard_tag("validation_td_error"), "validation/td_error");
  EXPECT_EQ(tensorboard_tag("train_return_mean"), "train/return_mean");
  EXPECT_EQ(tensorboard_tag("critic_loss"), "train/critic_loss");
  EXPECT_EQ(tensorboard_tag("updates_per_second"), "time/updates_per_second");
  EXPECT_EQ(tensorboard_tag("epoch"), "time/epoch");
}

TEST(TensorBoardLog, TextsGoToTheTextPlugin) {
  const TemporaryDirectory run;
  TensorBoardLog log(run.path(), 0);
  log.write_text("config", "algo: bc\nseed: 3\n");
  const auto events = read_events(event_paths(run.path()).at(0));
  ASSERT_EQ(events.size(), 3U);
  const auto& value = events[2].summary().value(0);
  EXPECT_EQ(value.tag(), "config/text_summary");
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "text");
  EXPECT_EQ(value.tensor().dtype(), 7);
  EXPECT_EQ(value.tensor().tensor_shape().dim(0).size(), 1);
  EXPECT_EQ(value.tensor().string_val(0), "    algo: bc\n    seed: 3\n    ");
}

TEST(TensorBoardLog, AResumedRunDropsTheLostSteps) {
  const TemporaryDirectory run;
  { TensorBoardLog(run.path(), 0).write(1500, {{"a", 1.0}}); }
  { TensorBoardLog(run.path(), 1000).write(1100, {{"a", 2.0}}); }
  { TensorBoardLog(run.path(), 0).write(10, {{"a", 3.0}}); }  // killed before the first checkpoint
  const auto paths = event_paths(run.path());  // in the order in which TensorBoard sorts them
  ASSERT_EQ(paths.size(), 3U);

  const auto first = read_events(paths[0]);
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[1].session_log().status(), tensorboard::SessionLog::START);
  EXPECT_EQ(first[1].step(), 0);
  EXPECT_EQ(first[2].step(), 1500);

  const auto second = read_events(paths[1]);
  ASSERT_EQ(second.size(), 3U);
  EXPECT_EQ(second[0].file_version(), "brain.Event:2");
  EXPECT_EQ(second[1].session_log().status(), tensorboard::SessionLog::START);
  EXPECT_EQ(second[1].step(), 1001);
  EXPECT_EQ(second[2].summary().value(0).simple_value(), 2.0F);

  const auto third = read_events(paths[2]);
  ASSERT_EQ(third.size(), 3U);
  EXPECT_EQ(third[1].session_log().status(), tensorboard::SessionLog::START);
  EXPECT_EQ(third[1].step(), 0);
}

TEST(TensorBoardLog, ReadsAFileOfTensorBoardItself) {
  const auto events = read_events(std::string(SOURCE_DIR) +
                                  "/tests/experiment/fixtures/events.out.tfevents.tensorboard");
  ASSERT_EQ(events.size(), 51U);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  for (int i = 1; i <= 50; ++i) {
    const auto& values = events[static_cast<size_t>(i)].summary().value();
    EXPECT_EQ(events[static_cast<size_t>(i)].step(), (i - 1) * 100);
    ASSERT_EQ(values.size(), 2);
    EXPECT_EQ(values[0].tag(), "train/critic_loss");
    EXPECT_FLOAT_EQ(values[0].simple_value(), 1.0F / static_cast<float>(i));
    EXPECT_EQ(values[1].tag(), "eval/normalized_score");
    EXPECT_EQ(values[1].simple_value(), static_cast<float>(i - 1));
  }
}

}  // namespace
}  // namespace rl_training::test_tensorboard_log
