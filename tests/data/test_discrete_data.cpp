#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/hdf5_writer.h"
#include "rl_training/data/inspect.h"
#include "rl_training/data/minari_writer.h"
#include "rl_training/data/npz.h"
#include "rl_training/data/npz_archive.h"
#include "rl_training/data/npz_writer.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"
#include "tests/data/small_dataset.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

const Space kThree = Space::discrete(3);

// Two episodes of three and two steps, with the discrete actions 2, 0, 1 and 1, 2.
TransitionDataset three_choices() {
  DatasetBuilder builder(Space::unbounded(2), kThree);
  float at = 0;
  const auto add = [&](int64_t choice, bool terminated, bool truncated) {
    at += 0.5f;
    builder.add(std::span<const int64_t>(&choice, 1), at, std::array{at, -at}, terminated,
                truncated);
  };
  builder.begin_episode(std::array{0.0f, 1.0f});
  add(2, false, false);
  add(0, false, false);
  add(1, true, false);
  builder.begin_episode(std::array{5.0f, 6.0f});
  add(1, false, false);
  add(2, false, true);
  return std::move(builder).build();
}

DatasetReadOptions of_three() {
  DatasetReadOptions options;
  options.bounds = &kThree;
  return options;
}

std::vector<int64_t> choices_of(const TransitionDataset& dataset) {
  std::vector<int64_t> choices;
  for (int64_t row = 0; row < dataset.rows(); ++row) choices.push_back(dataset.choice(row));
  return choices;
}

std::string problem_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "no error";
}

// Writes an npz file with the given actions.
template <class T>
void write_npz(const std::string& path, const std::vector<T>& actions,
               const std::vector<int64_t>& shape) {
  NpzWriter file;
  file.add("observations", std::array<int64_t, 2>{3, 1}, std::vector<float>{1, 2, 3});
  file.add("actions", shape, std::span<const T>(actions));
  file.add("rewards", std::array<int64_t, 1>{3}, std::vector<float>{1, 1, 1});
  file.add_flags("terminals", std::vector<uint8_t>{0, 0, 1});
  write_file_atomically(posix_file_system(), path, file.bytes());
}

class DiscreteData : public testing::Test {
 protected:
  std::string in(const char* name) const { return directory_ / name; }
  TemporaryDirectory directory_;
};

TEST_F(DiscreteData, EveryWriterKeepsTheTransitions) {
  const auto data = three_choices();
  const auto with_next = data.with_next_actions();
  for (const auto& dataset : {data, with_next}) {
    const std::string suffix = dataset.has_next_actions() ? "2" : "1";
    const auto npz = in("a") + suffix + ".npz", hdf5 = in("a") + suffix + ".hdf5";
    save_npz_dataset(dataset, npz, &kThree);
    save_d4rl_dataset(dataset, hdf5, nullptr);
    for (const auto& path : {npz, hdf5}) {
      auto options = of_three();
      options.timeout_policy = TimeoutPolicy::keep;
      const auto loaded = load_dataset_file("auto", path, options);
      EXPECT_EQ(loaded.fingerprint(), dataset.fingerprint()) << path;
      EXPECT_EQ(choices_of(loaded), (std::vector<int64_t>{2, 0, 1, 1, 2}));
      EXPECT_EQ(loaded.action_space(), kThree);
    }
  }
  save_minari_dataset(data, in("a-v0"));
  EXPECT_EQ(load_dataset_file("minari", in("a-v0"), of_three()).fingerprint(), data.fingerprint());
  EXPECT_EQ(load_dataset_file("minari", in("a-v0")).fingerprint(), data.fingerprint())
      << "the dataset says itself that it holds choices";
}

TEST_F(DiscreteData, ChoicesAreWrittenAsIntegers) {
  const auto data = three_choices().with_next_actions();
  save_npz_dataset(data, in("a.npz"), nullptr);
  NpzReader npz(in("a.npz"));
  EXPECT_EQ(npz.shape("actions"), (std::vector<int64_t>{5}));
  EXPECT_EQ(npz.shape("next_actions"), (std::vector<int64_t>{5}));
  const auto bytes = posix_file_system().read_file(in("a.npz"));
  EXPECT_NE(bytes.find("'descr': '<i8'"), std::string::npos);
  save_minari_dataset(data, in("a-v0"));
  const auto metadata = nlohmann::json::parse(read_all(in("a-v0") + "/data/metadata.json"));
  const auto space = nlohmann::json::parse(metadata["action_space"].get<std::string>());
  EXPECT_EQ(space,
            (nlohmann::json{{"type", "Discrete"}, {"dtype", "int64"}, {"start", 0}, {"n", 3}}));
}

TEST_F(DiscreteData, VectorsAndColumnsOfNumbersAreRead) {
  write_npz<int64_t>(in("vector.npz"), {2, 0, 1}, {3});
  write_npz<float>(in("column.npz"), {2, 0, 1}, {3, 1});
  const auto vector = load_dataset_file("npz", in("vector.npz"), of_three());
  const auto column = load_dataset_file("npz", in("column.npz"), of_three());
  EXPECT_EQ(choices_of(vector), (std::vector<int64_t>{2, 0, 1}));
  EXPECT_EQ(vector.fingerprint(), column.fingerprint());
  std::ofstream(in("a.csv")) << "obs0,action,reward,terminated\n1,2,1,0\n2,0,1,0\n3,1,1,1\n";
  EXPECT_EQ(load_dataset_file("csv", in("a.csv"), of_three()).fingerprint(), vector.fingerprint());
}

TEST_F(DiscreteData, WhatIsNoChoiceIsNamedWithItsRow) {
  const auto path = in("a.npz");
  for (const auto& [value, shown] : {std::pair{3.0f, "3"}, {-1.0f, "-1"}, {0.5f, "0.5"}}) {
    write_npz<float>(path, {2, value, 1}, {3});
    EXPECT_EQ(
        problem_of([&] { load_dataset_file("npz", path, of_three()); }),
        path +
            ": actions: row 1 is not a discrete action (expected a whole number from 0 to 2, got " +
            shown + ")");
  }
  write_npz<int64_t>(path, {0, 0, 0, 0, 0, 0}, {3, 2});
  EXPECT_EQ(problem_of([&] { load_dataset_file("npz", path, of_three()); }),
            path + ": actions: the environment has other actions (expected 1 columns, got 2)");
  write_npz<float>(path, {0, 0, 0}, {3});
  EXPECT_EQ(problem_of([&] { load_dataset_file("npz", path); }),
            path +
                ": actions: wrong shape (expected (3, 1) for one continuous action; for discrete "
                "actions integers, --env or a discrete algorithm; got (3,) of floats)");
}

TEST_F(DiscreteData, IntegersOnePerRowNeedNoEnvironment) {
  const auto path = in("a.npz");
  write_npz<int64_t>(path, {2, 0, 1}, {3});
  const auto found = load_dataset_file("npz", path);
  EXPECT_EQ(found.action_space(), kThree) << "the largest index is 2";
  EXPECT_EQ(found.fingerprint(), load_dataset_file("npz", path, of_three()).fingerprint());
  save_d4rl_dataset(found, in("a.hdf5"), nullptr);
  DatasetReadOptions keep;
  keep.timeout_policy = TimeoutPolicy::keep;
  EXPECT_EQ(load_dataset_file("d4rl", in("a.hdf5"), keep).fingerprint(), found.fingerprint());
  write_npz<int64_t>(path, {2, -1, 1}, {3});
  EXPECT_EQ(problem_of([&] { load_dataset_file("npz", path); }),
            path +
                ": actions: row 1 is not a discrete action (expected a whole number from 0 to "
                "65535, got -1)");
  const Space box = Space::box({-1}, {1});
  DatasetReadOptions continuous;
  continuous.bounds = &box;
  write_npz<int64_t>(path, {2, 0, 1}, {3});
  EXPECT_EQ(problem_of([&] { load_dataset_file("npz", path, continuous); }),
            path +
                ": actions: wrong shape (expected (3, dims), because the environment is "
                "continuous, got (3,))");
  // The largest action of this file occurs only as a next action.
  DatasetBuilder builder(Space::unbounded(1), kThree);
  builder.begin_episode(std::array{0.0f});
  builder.add(std::array<int64_t, 1>{1}, 0, std::array{1.0f}, false, false);
  builder.end_episode(std::array<int64_t, 1>{2});
  save_npz_dataset(std::move(builder).build(), path, nullptr);
  EXPECT_EQ(load_dataset_file("npz", path).next_choice(0), 2);
  // Not every file of a directory needs to contain all actions.
  std::filesystem::create_directory(in("parts"));
  write_npz<int64_t>(in("parts/1.npz"), {1, 0, 1}, {3});
  write_npz<int64_t>(in("parts/2.npz"), {2, 0, 1}, {3});
  EXPECT_EQ(load_dataset_file("npz", in("parts")).action_space(), kThree);
  write_npz<float>(in("parts/3.npz"), {2, 0, 1}, {3, 1});
  EXPECT_EQ(problem_of([&] { load_dataset_file("npz", in("parts")); }),
            in("parts/3.npz") + ": action: continuous, but discrete in " + in("parts/1.npz"));
}

TEST_F(DiscreteData, MinariSpacesMustFit) {
  save_minari_dataset(three_choices(), in("a-v0"));
  const Space box = Space::box({-1}, {1}), two = Space::discrete(2);
  DatasetReadOptions options;
  const auto problem = [&] {
    const auto text = problem_of([&] { load_dataset_file("minari", in("a-v0"), options); });
    return text.substr(text.find("action_space"));
  };
  options.bounds = &box;
  EXPECT_EQ(problem(), "action_space: expected continuous actions (a Box space), got 3 choices");
  options.bounds = &two;
  EXPECT_EQ(problem(), "action_space: expected discrete actions (2 choices), got 3 choices");
  options.bounds = nullptr;
  const auto metadata = in("a-v0") + "/data/metadata.json";
  auto text = read_all(metadata);
  text.replace(text.find("start\\\": 0"), 10, "start\\\": 1");
  write_all(metadata, text);
  EXPECT_EQ(problem(), "action_space: a Discrete space that does not count from 0");
  save_minari_dataset(small_dataset(), in("b-v0"));
  options.bounds = &two;
  EXPECT_NE(problem_of([&] {
              load_dataset_file("minari", in("b-v0"), options);
            }).find("expected discrete actions (2 choices), got a Box space"),
            std::string::npos);
}

TEST_F(DiscreteData, D3rlpyFilesOfBothVersionsAreRead) {
  const auto write = [&](const std::string& path, const std::function<void(Hdf5Writer&)>& fill) {
    const auto result = run_in_sandbox(path, SandboxLimits::for_writing(1 << 20), [&](auto& out) {
      Hdf5Writer file;
      fill(file);
      const auto image = file.bytes();
      out.array(image.data(), static_cast<int64_t>(image.size()));
    });
    const auto image = result.arrays.at(0).span();
    write_file_atomically(posix_file_system(), path,
                          {reinterpret_cast<const char*>(image.data()), image.size()});
  };
  using Shape = std::vector<int64_t>;
  const std::vector<float> obs = {1, 2, 3}, ones = {1, 1, 1};
  const std::vector<int64_t> choices = {2, 0, 1};
  const std::vector<uint8_t> last = {0, 0, 1};
  write(in("v1.h5"), [&](Hdf5Writer& file) {
    file.add("observations", Shape{3, 1}, obs);
    file.add("actions", Shape{3, 1}, std::span<const int64_t>(choices));
    file.add("rewards", Shape{3}, ones);
    file.add_flags("terminals", last);
    file.add_flags("episode_terminals", last);
    file.add_flags("discrete_action", std::vector<uint8_t>{1});
  });
  write(in("v2.h5"), [&](Hdf5Writer& file) {
    file.add("num_episodes", Shape{1}, std::vector<float>{1});
    file.add("observations_0", Shape{3, 1}, obs);
    file.add("actions_0", Shape{3, 1}, std::span<const int64_t>(choices));
    file.add("rewards_0", Shape{3, 1}, ones);
    file.add_flags("terminated_0", std::vector<uint8_t>{1});
  });
  for (const char* name : {"v1.h5", "v2.h5"}) {
    EXPECT_EQ(choices_of(load_dataset_file("d3rlpy", in(name), of_three())), choices) << name;
  }
  EXPECT_NE(problem_of([&] {
              load_dataset_file("d3rlpy", in("v1.h5"));
            }).find("discrete_action: expected continuous actions"),
            std::string::npos);
}

TEST_F(DiscreteData, InspectionCountsEachChoice) {
  save_npz_dataset(three_choices(), in("a.npz"), nullptr);
  const auto report = inspect_dataset("npz", in("a.npz"), of_three());
  EXPECT_EQ(report.fingerprint, three_choices().fingerprint());
  EXPECT_EQ(report.choices, 3);
  EXPECT_EQ(report.action_histograms.at(0).counts(), (std::vector<int64_t>{1, 2, 2}));
  EXPECT_EQ(report.to_json()["choices"], 3);
  EXPECT_TRUE(report.warnings.empty()) << report.warnings.front().message;

  write_npz<int64_t>(in("one.npz"), {0, 2, 0}, {3});
  std::string codes;
  for (const auto& warning : inspect_dataset("npz", in("one.npz"), of_three()).warnings) {
    codes += warning.code == "unused_choices" ? warning.message : "";
  }
  EXPECT_EQ(codes, "actions that never occur: 1");
}

}  // namespace
}  // namespace rl_training
