#include <gtest/gtest.h>

#include "rl_training/experiment/run_shares.h"
#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"

namespace rl_training::test_run_shares {
namespace {

ArchiveEntry floats(const std::string& name, const std::string& bytes) {
  return {name, DType::f32, {static_cast<int64_t>(bytes.size()) / 4}, bytes};
}
ArchiveEntry text(const std::string& name, const std::string& bytes) {
  return {name, DType::u8, {static_cast<int64_t>(bytes.size())}, bytes};
}

std::vector<ArchiveEntry> state(const std::string& stream, const std::string& actor = "wwww") {
  return {floats("algorithm.actor", actor), text("algorithm.policy_rng", stream),
          text("trainer.last_row", "{}"), floats("online.obs", stream)};
}

CheckpointFile file(const std::string& name, const std::string& bytes,
                    const std::string& existing = "") {
  return {name, bytes.size(), sha256_hex(bytes), existing, [bytes] { return bytes; }};
}

TEST(RunShares, EachProcessFindsItsOwnAgain) {
  auto entries = state("0000");
  entries.push_back(text("metric_log.bytes", "12"));
  std::vector<CheckpointFile> files = {file("replay-000000000000.rows", "zero")};
  add_share(1,
            pack_share(state("1111"), {file("replay1-000000000000.rows", "old", "/a/b"),
                                       file("replay1-000000000003.rows", "new")}),
            entries, files);
  add_share(2, pack_share(state("0000"), {}), entries, files);

  // State that equals the state of process 0 is not stored again.
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"algorithm.actor", "algorithm.policy_rng", "trainer.last_row",
                                      "online.obs", "metric_log.bytes", "process1.online.obs",
                                      "process1.algorithm.policy_rng"}));
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[1].existing, "/a/b");
  EXPECT_EQ(files[2].bytes(), "new");

  const Checkpoint checkpoint = {"here", 7, {}, entries, files};
  const auto value = [&](int rank, const std::string& name) -> std::string {
    for (const auto& entry : share_of(checkpoint, rank).entries) {
      if (entry.name == name) return entry.bytes;
    }
    return "none";
  };
  for (const auto& [rank, stream] : {std::pair(0, "0000"), {1, "1111"}, {2, "0000"}}) {
    EXPECT_EQ(value(rank, "algorithm.policy_rng"), stream);
    EXPECT_EQ(value(rank, "online.obs"), stream);
    EXPECT_EQ(value(rank, "algorithm.actor"), "wwww");
    EXPECT_EQ(share_of(checkpoint, rank).step, 7);
  }
  EXPECT_EQ(value(0, "metric_log.bytes"), "12");
  EXPECT_EQ(value(1, "metric_log.bytes"), "none");  // only process 0 writes logs
  EXPECT_EQ(share_of(checkpoint, 0).files.size(), 1U);
  EXPECT_EQ(share_of(checkpoint, 1).files.size(), 2U);
  EXPECT_EQ(share_of(checkpoint, 2).files.size(), 0U);
}

TEST(RunShares, OtherParametersEndTheRun) {
  auto entries = state("0000");
  std::vector<CheckpointFile> files;
  try {
    add_share(3, pack_share(state("1111", "wwwx"), {}), entries, files);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_NE(error.message().find("process 3 no longer has the parameters"), std::string::npos);
  }
}

TEST(RunShares, TheNumberOfProcessesIsThatOfTheCheckpoint) {
  Checkpoint checkpoint;
  checkpoint.manifest = Json::object();
  check_process_count(checkpoint, 1);
  EXPECT_THROW(check_process_count(checkpoint, 2), Error);
  checkpoint.manifest["processes"] = 4;
  check_process_count(checkpoint, 4);
  EXPECT_THROW(check_process_count(checkpoint, 1), Error);
}

}  // namespace
}  // namespace rl_training::test_run_shares
