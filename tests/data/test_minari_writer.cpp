#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/minari_writer.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "tests/data/fixture_paths.h"
#include "tests/data/small_dataset.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

TEST(MinariWriter, ReadsBackTheSameTransitions) {
  const TemporaryDirectory directory;
  const auto path = directory / "small-v0";
  save_minari_dataset(small_dataset(), path);
  EXPECT_EQ(detect_dataset_kind(path), "minari");
  const auto loaded = load_dataset_file("minari", path);
  EXPECT_EQ(loaded.fingerprint(), small_dataset().fingerprint());
  const auto steps = read_logged_steps("minari", path);
  EXPECT_TRUE(steps.warnings.empty());
  EXPECT_EQ(fs::directory_iterator(directory.path())->path().filename(), "small-v0");
  // Minari rejects files that declare a newer release than the installed one, so our files declare
  // an old release.
  const auto metadata = nlohmann::json::parse(read_all(path + "/data/metadata.json"));
  EXPECT_EQ(metadata["minari_version"], "0.5.0");
}

TEST(MinariWriter, TheArraysOfMinariHaveFixedNames) {
  const TemporaryDirectory directory;
  save_minari_dataset(small_dataset(), directory / "small-v0");
  DatasetReadOptions named;
  named.keys = "obs=state";
  for (const char* kind : {"minari", "auto"}) {
    try {
      load_dataset_file(kind, directory / "small-v0", named);
      ADD_FAILURE() << "read a file whose arrays cannot be named";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      EXPECT_EQ(error.message(),
                "not used by minari files (expected a file of kind d4rl, robomimic, npz, csv)");
    }
  }
}

TEST(MinariWriter, ActionsCanBeScaledToTheEnvironment) {
  const TemporaryDirectory directory;
  const auto bounds = Space::box({-2}, {2});
  MinariDetails details;
  details.bounds = &bounds;
  details.scale_actions = true;
  save_minari_dataset(small_dataset(), directory / "a-v1", details);
  EXPECT_FLOAT_EQ(load_dataset_file("minari", directory / "a-v1").action(3)[0], 0.6f);
  DatasetReadOptions scaled;
  scaled.bounds = &bounds;
  EXPECT_EQ(load_dataset_file("minari", directory / "a-v1", scaled).fingerprint(),
            small_dataset().fingerprint());
}

TEST(MinariWriter, MarksAnEndWithoutAFlagAsTruncatedForOthers) {
  const TemporaryDirectory directory;
  DatasetBuilder builder(1, 1);
  builder.begin_episode(std::array{1.0f});
  builder.add(std::array{0.5f}, 1, std::array{2.0f}, false, false);
  builder.end_episode(std::array{0.25f});
  const auto dataset = std::move(builder).build();
  save_minari_dataset(dataset, directory / "cut-v0");
  EXPECT_EQ(
      Hdf5File(directory / "cut-v0/data/main_data.hdf5").read_doubles("episode_0/truncations"),
      std::vector<double>{1});
  const auto again = load_dataset_file("minari", directory / "cut-v0");
  EXPECT_FALSE(again.truncated(0));
  ASSERT_TRUE(again.next_action_valid(0));
  EXPECT_EQ(again.next_action(0)[0], 0.25f);
  EXPECT_EQ(again.fingerprint(), dataset.with_next_actions().fingerprint());
}

TEST(MinariWriter, RefusesNamesAndPlacesThatDoNotFit) {
  const TemporaryDirectory directory;
  EXPECT_THROW(save_minari_dataset(small_dataset(), directory / "unversioned"), Error);
  save_minari_dataset(small_dataset(), directory / "there-v0");
  EXPECT_THROW(save_minari_dataset(small_dataset(), directory / "there-v0"), Error);
}

std::vector<std::string> episode_names(const std::string& directory) {
  const auto path = directory + "/data/main_data.hdf5";
  const auto text = run_in_sandbox(path, SandboxLimits::for_file(path), [&](SandboxOutput& output) {
                      Hdf5File file(path);
                      nlohmann::json names = file.names("episode_1");
                      output.text(names.dump());
                    }).text;
  return nlohmann::json::parse(text).get<std::vector<std::string>>();
}

// The file has the same content as a file from Minari's own writer, except for information that
// only the original environment has.
TEST(MinariWriter, HasTheLayoutOfTheRealWriter) {
  const auto real = kFixtures + "minari/v0.5.3/pendulum/random-v0";
  const TemporaryDirectory directory;
  const auto path = directory / "random-v0";
  const auto bounds = Space::box({-2}, {2});
  MinariDetails details;
  details.bounds = &bounds;
  details.dataset_id = "pendulum/random-v0";
  const auto data = load_dataset_file("minari", real);
  save_minari_dataset(data, path, details);
  EXPECT_EQ(load_dataset_file("minari", path).fingerprint(), data.fingerprint());

  auto names = episode_names(real);
  names.erase(std::remove(names.begin(), names.end(), "infos"), names.end());
  EXPECT_EQ(episode_names(path), names);

  const auto theirs = nlohmann::json::parse(read_all(real + "/data/metadata.json"));
  const auto ours = nlohmann::json::parse(read_all(path + "/data/metadata.json"));
  for (const auto& [key, value] : ours.items()) {
    ASSERT_TRUE(theirs.contains(key)) << key;
    EXPECT_EQ(value.type_name(), std::string(theirs[key].type_name())) << key;
  }
  for (const char* key :
       {"total_episodes", "total_steps", "data_format", "dataset_id", "action_space"}) {
    EXPECT_EQ(ours[key], theirs[key]) << key;
  }
}

}  // namespace
}  // namespace rl_training
