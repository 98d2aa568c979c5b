#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "rl_training/data/dataset_file.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "tests/data/fixture_paths.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

// Returns the part of the error message that follows `path`, or "" if the file loads. The message
// must be a single line that starts with `path`.
std::string problem(const std::string& kind, const std::string& path) {
  try {
    load_dataset_file(kind, path);
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::data) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(text.find(path), 0u) << text;
    EXPECT_LT(text.size(), path.size() + 300) << text;
    return text.substr(std::min(text.size(), path.size()));
  }
  return "";
}

using Table = std::map<std::string, std::string>;

// Maps each file name, without its extension, to a part of the error message. "" means that the
// file loads.
const Table& hdf5_table() {
  static const Table table = {
      {"truncated_60pct", "not a complete HDF5 file"},
      {"truncated_last_100_bytes", "not a complete HDF5 file"},
      {"truncated_header", "not a complete HDF5 file"},
      {"empty", "the file is empty"},
      {"not_hdf5", "not a complete HDF5 file"},
      {"corrupt_gzip_chunk", ": observations: cannot read the array: inflate"},
      {"missing_observations", ": observations: the file has no such array"},
      {"missing_actions", ": actions: the file has no such array"},
      {"missing_rewards", ": rewards: the file has no such array"},
      {"missing_terminals", ": terminals: the file has no such array"},
      {"mismatch_rewards", ": rewards: wrong shape (expected (400,), got (383,))"},
      {"mismatch_actions", ": actions: wrong shape (expected (400, dims), got (399, 1))"},
      {"mismatch_terminals", ": terminals: wrong shape (expected (400,), got (200,))"},
      {"mismatch_next_observations",
       ": next_observations: wrong shape (expected (400, 3), got (397"},
      {"mismatch_timeouts", ": timeouts: wrong shape (expected (400,), got (395,))"},
      {"nan_rewards", ": rewards: row 3, column 0 is not a finite float (got nan)"},
      {"inf_rewards", ": rewards: row 10, column 0 is not a finite float (got inf)"},
      {"nan_observations", ": observations: row 5, column 1 is not a finite float (got nan)"},
      {"nan_actions", ": actions: row 9, column 0 is not a finite float"},
      {"huge_observation_value", ""},
      {"action_out_of_bounds", ""},
      {"zero_length", ": observations: no rows"},
      {"wrong_dtype_string_actions",
       ": actions: not numeric (expected floats, integers or "
       "booleans, got text)"},
      {"wrong_dtype_compound_rewards", ": rewards: not numeric"},
      {"wrong_dtype_complex_observations", ": observations: not numeric"},
      {"rank3_observations",
       ": observations: wrong shape (expected (rows, dims), got (400, 3, 1))"},
      {"rank1_observations", ": observations: wrong shape"},
      {"zero_width_actions", ": actions: wrong shape"},
      {"terminals_value_2", ": terminals: row 0 is not a flag (expected 0 or 1, got 2)"},
      {"no_episode_end", ""},
      {"all_terminal", ""},
      {"next_obs_dim_mismatch", ": next_observations: wrong shape"},
      {"huge_extent", ": observations: shape (1099511627776, 3) is larger than the limit"},
      {"observations_is_group", ": observations: is a group"},
      {"dangling_softlink", ": observations: is a soft link"},
      {"external_link", ": observations: is a link to another file"},
      {"group_loop", ""},
      {"lzf_filter", "unsupported filter lzf"},
  };
  return table;
}

TEST(MalformedFiles, Hdf5) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(kFixtures + "malformed")) {
    if (entry.path().extension() != ".hdf5") continue;
    const auto name = entry.path().stem().string();
    SCOPED_TRACE(name);
    ASSERT_TRUE(hdf5_table().count(name));
    const auto text = problem("d4rl", entry.path());
    const auto& expected = hdf5_table().at(name);
    EXPECT_EQ(text.empty(), expected.empty()) << text;
    EXPECT_NE(text.find(expected), std::string::npos) << text;
    EXPECT_EQ(problem("auto", entry.path()), text);
    ++files;
  }
  EXPECT_EQ(files, static_cast<int>(hdf5_table().size()));
  // Reading these files must need less than 200 MiB. The check is skipped under a sanitizer: a
  // child process starts with the memory of this process, which is then large.
  if (!sandbox_is_strict()) return;
  rusage usage{};
  ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &usage), 0);
  EXPECT_LT(usage.ru_maxrss, 200 * 1024);
}

TEST(MalformedFiles, CrashersAreContained) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(kFixtures + "crashers")) {
    EXPECT_NE(problem("d4rl", entry.path()), "") << entry.path();
    EXPECT_NE(problem("d3rlpy", entry.path()), "") << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 6);
}

TEST(MalformedFiles, Minari) {
  const std::string folder = kFixtures + "malformed/minari/";
  const Table table = {
      {"no_metadata_json", ""},
      {"no_main_data", "main_data.hdf5: cannot open: No such file"},
      {"metadata_bad_json", "metadata.json:"},
      {"metadata_total_steps_wrong", ""},
      {"metadata_total_episodes_more", ": episode_5: the file has no such episode"},
      {"data_format_arrow", "data_format: storage as arrow is not supported"},
      {"space_shape_wrong", ": episode_0/observations: wrong shape (expected 201 rows of 4"},
      {"action_space_discrete",
       ": episode_0/actions: row 0 is not a discrete action (expected a whole"},
      {"episode_gap", ": episode_2: the file has no such episode"},
      {"obs_not_n_plus_1", ": episode_1/observations: wrong shape (expected 201 rows of 3"},
      {"rewards_short", ": episode_3/rewards: wrong shape (expected (200,), got (199,))"},
      {"nan_reward", ": episode_0/rewards: row 4, column 0 is not a finite float"},
      {"missing_truncations", ": episode_4/truncations: the file has no such array"},
      {"mid_episode_termination", ": episode_0/terminations: row 50 ends the episode before"},
      {"no_end_flag", ""},
      {"truncated_hdf5", "not a complete HDF5 file"},
      {"empty_dataset", ": no episodes"},
      {"symlink_escape_episode", ": episode_1: is a link to another file"},
  };
  for (const auto& [name, expected] : table) {
    const auto text = problem("minari", folder + name);
    EXPECT_EQ(text.empty(), expected.empty()) << name << text;
    EXPECT_NE(text.find(expected), std::string::npos) << name << text;
  }
  const auto codes = [&](const char* name) {
    std::string all;
    for (const auto& warning : read_logged_steps("minari", folder + name).warnings) {
      all += warning.code + ": " + warning.message;
    }
    return all;
  };
  EXPECT_EQ(codes("no_metadata_json"),
            "no_metadata: no total_episodes: counted the episodes in the file");
  EXPECT_EQ(codes("metadata_total_steps_wrong"),
            "total_steps: total_steps says 999, the episodes have 1000");
  EXPECT_EQ(codes("no_end_flag"),
            "no_end_flag: episode_0 ends without a flag: treated as truncated");
}

TEST(MalformedFiles, WhatIsNotAFileAtAll) {
  const TemporaryDirectory directory;
  EXPECT_NE(problem("d4rl", directory.path()).find("not a regular file"), std::string::npos);
  EXPECT_NE(problem("d4rl", "/dev/null").find("not a regular file"), std::string::npos);
  EXPECT_NE(problem("auto", directory / "none").find("no such file"), std::string::npos);
  EXPECT_NE(problem("auto", directory.path()).find("neither a Minari dataset"), std::string::npos);
  std::ofstream(directory / "notes.txt") << "hello";
  EXPECT_NE(problem("auto", directory / "notes.txt").find("unknown kind"), std::string::npos);
  const auto odd_name = directory / "a file \xc3\xa9.hdf5";
  fs::copy(kFixtures + "malformed/terminals_value_2.hdf5", odd_name);
  EXPECT_NE(problem("auto", odd_name).find("not a flag"), std::string::npos);
  EXPECT_THROW(load_dataset_file("d4rk", odd_name), Error);
}

TEST(MalformedFiles, NonfiniteNumbersPassWhenAllowed) {
  DatasetReadOptions options;
  options.allow_nonfinite = true;
  const auto steps =
      read_logged_steps("d4rl", kFixtures + "malformed/nan_observations.hdf5", options);
  EXPECT_TRUE(std::isnan(steps.obs[5 * 3 + 1]));
}

}  // namespace
}  // namespace rl_training
