#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>

#include "rl_training/experiment/metric_log.h"
#include "rl_training/experiment/state_archive.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_metric_log {
namespace {

std::function<void(StateVisitor&)> visiting(MetricLog& log) {
  return [&log](StateVisitor& state) { log.visit_state(state); };
}

std::vector<std::string> columns() { return {"update_count", "critic_loss", "note"}; }

TEST(MetricLog, WritesBothFiles) {
  const TemporaryDirectory run;
  MetricLog log(run.path(), columns());
  log.write({{"update_count", 100}, {"critic_loss", 0.1}});
  log.write({{"note", "a,\"b\"\n"}, {"extra", true}, {"update_count", 200}});
  log.write({{"update_count", 300}, {"critic_loss", std::nan("")}, {"note", nullptr}});
  log.write({{"update_count", 400}, {"critic_loss", -INFINITY}, {"note", "x"}});
  EXPECT_EQ(read_all(run / "metrics.jsonl"),
            "{\"update_count\":100,\"critic_loss\":0.1}\n"
            "{\"note\":\"a,\\\"b\\\"\\n\",\"extra\":true,\"update_count\":200}\n"
            "{\"update_count\":300,\"critic_loss\":null,\"note\":null}\n"
            "{\"update_count\":400,\"critic_loss\":null,\"note\":\"x\"}\n");
  EXPECT_EQ(read_all(run / "metrics.csv"),
            "update_count,critic_loss,note\n"
            "100,0.1,\n"
            "200,,\"a,\"\"b\"\"\n\"\n"
            "300,nan,\n"
            "400,-inf,x\n");
}

TEST(MetricLog, NumbersComeBackExactly) {
  const TemporaryDirectory run;
  MetricLog log(run.path(), {"x"});
  const std::vector<double> values = {1.0 / 3.0, 5e-324,        1.7976931348623157e308,   -0.0,
                                      1e-5,      123456789.125, static_cast<double>(0.1F)};
  for (const double value : values) log.write({{"x", value}});
  std::istringstream json(read_all(run / "metrics.jsonl"));
  std::istringstream csv(read_all(run / "metrics.csv"));
  std::string line;
  std::getline(csv, line);
  for (const double value : values) {
    std::getline(json, line);
    EXPECT_EQ(Json::parse(line)["x"].get<double>(), value);
    std::getline(csv, line);
    EXPECT_EQ(std::stod(line == "5e-324" ? "0" : line), value == 5e-324 ? 0.0 : value) << line;
  }
}

TEST(MetricLog, AResumedRunWritesTheSameFiles) {
  const TemporaryDirectory whole;
  const TemporaryDirectory killed;
  const auto row = [](int i) { return Json{{"update_count", i}, {"critic_loss", 1.0 / i}}; };
  MetricLog uninterrupted(whole.path(), columns());
  for (int i = 1; i <= 6; ++i) uninterrupted.write(row(i));

  std::vector<ArchiveEntry> checkpoint;
  {
    MetricLog first(killed.path(), columns());
    for (int i = 1; i <= 3; ++i) first.write(row(i));
    checkpoint = save_state(visiting(first));
    for (int i = 4; i <= 5; ++i) first.write(row(i));  // lost, because they follow the checkpoint
  }
  MetricLog second(killed.path(), columns());
  load_state(checkpoint, "f", visiting(second));
  second.restore();
  EXPECT_EQ(read_all(killed / "metrics.csv"), "update_count,critic_loss,note\n1,1.0,\n2,0.5,\n" +
                                                  std::string("3,0.3333333333333333,\n"));
  for (int i = 4; i <= 6; ++i) second.write(row(i));
  for (const char* name : {"metrics.jsonl", "metrics.csv"}) {
    EXPECT_EQ(read_all(killed / name), read_all(whole / name));
  }
  EXPECT_EQ(hash_state(visiting(second)), hash_state(visiting(uninterrupted)));
}

TEST(MetricLog, ARunKilledBeforeItsFirstCheckpointStartsAgain) {
  const TemporaryDirectory run;
  MetricLog(run.path(), columns()).write({{"update_count", 1}, {"note", "a longer first line"}});
  MetricLog again(run.path(), columns());
  again.write({{"update_count", 2}});
  EXPECT_EQ(read_all(run / "metrics.jsonl"), "{\"update_count\":2}\n");
  EXPECT_EQ(read_all(run / "metrics.csv"), "update_count,critic_loss,note\n2,,\n");
}

TEST(MetricLog, FurtherColumnsAreAddedToAnExistingFile) {
  const TemporaryDirectory run;
  MetricLog first(run.path(), {"a", "b"});
  first.write({{"a", 1}, {"b", 2}, {"new", 7}});
  const auto checkpoint = save_state(visiting(first));
  // The second attempt starts from the same checkpoint, as after a kill.
  for (int attempt = 0; attempt < 2; ++attempt) {
    MetricLog second(run.path(), {"new", "b", "a"});
    load_state(checkpoint, "f", visiting(second));
    second.restore();
    EXPECT_EQ(read_all(run / "metrics.csv"), "a,b,new\n1,2,7\n");
    second.write({{"a", 3}, {"b", 4}, {"new", 5}});
    EXPECT_EQ(read_all(run / "metrics.csv"), "a,b,new\n1,2,7\n3,4,5\n");
  }
  MetricLog fewer(run.path(), {"b"});  // the columns of the file do not change
  load_state(checkpoint, "f", visiting(fewer));
  fewer.restore();
  fewer.write({{"a", 8}});
  EXPECT_EQ(read_all(run / "metrics.csv"), "a,b,new\n1,2,7\n8,,\n");
}

TEST(MetricLog, AFileShorterThanTheCheckpointSaysIsAnError) {
  const TemporaryDirectory run;
  MetricLog first(run.path(), {"a"});
  first.write({{"a", 1}});
  const auto checkpoint = save_state(visiting(first));
  std::filesystem::resize_file(run / "metrics.jsonl", 3);
  MetricLog second(run.path(), {"a"});
  load_state(checkpoint, "f", visiting(second));
  try {
    second.restore();
    FAIL() << "the loss went unseen";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.place().file, run / "metrics.jsonl");
  }
}

// Limits the size of files during its lifetime. As on a full disk, a write that exceeds the limit
// still writes its first part.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(MetricLog, AFullDiskIsAnErrorWithThePath) {
  // A row of metrics.jsonl has 8 bytes, and the header of metrics.csv has more than 10 bytes. With
  // a limit of 4 bytes, metrics.jsonl cannot be written. With a limit of 10 bytes, only metrics.csv
  // cannot be written.
  for (const auto& [bytes, full] : {std::pair(4, "metrics.jsonl"), std::pair(10, "metrics.csv")}) {
    const TemporaryDirectory run;
    MetricLog log(run.path(), {"a", "a_longer_name"});
    try {
      const FileSizeLimit limit(bytes);
      log.write({{"a", 1}});
      FAIL() << "wrote to a full disk";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 6);
      EXPECT_EQ(error.place().file, run / full);
    }
    EXPECT_EQ(std::filesystem::file_size(run / "metrics.jsonl"), 0U);  // the row was removed
    log.write({{"a", 2}});
    EXPECT_EQ(read_all(run / "metrics.jsonl"), "{\"a\":2}\n");
    EXPECT_EQ(read_all(run / "metrics.csv"), "a,a_longer_name\n2,\n");
  }
}

TEST(MetricLog, RowsMustBeFlatAndColumnsPlain) {
  const TemporaryDirectory run;
  MetricLog log(run.path(), {"a"});
  EXPECT_THROW(log.write({{"a", {1, 2}}}), Error);
  EXPECT_THROW(MetricLog(run.path(), {"a,b"}), Error);
}

TEST(TimingLog, AppendsAcrossProcesses) {
  const TemporaryDirectory run;
  TimingLog(run.path()).write(100, 12.5, 8.0);
  TimingLog(run.path()).write(200, 30.0, INFINITY);
  EXPECT_EQ(read_all(run / "timing.jsonl"),
            "{\"update_count\":100,\"wall_time\":12.5,\"updates_per_second\":8.0}\n"
            "{\"update_count\":200,\"wall_time\":30.0,\"updates_per_second\":null}\n");
}

}  // namespace
}  // namespace rl_training::test_metric_log
