#include <gtest/gtest.h>
#include <zip.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/minari_writer.h"
#include "rl_training/data/npz.h"
#include "rl_training/data/npz_archive.h"
#include "rl_training/data/npz_writer.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/rng.h"
#include "tests/data/fixture_paths.h"
#include "tests/data/small_dataset.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Returns an npy array with the given header text.
std::string npy(const std::string& dict, const std::string& data) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dict.size() & 0xff);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict + data;
}

std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data,
                   const std::string& fortran = "False") {
  return npy(
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n",
      data);
}

std::string zip_of(const Members& members, int method = ZIP_CM_STORE) {
  const TemporaryDirectory directory;
  const auto path = directory / "made.zip";
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, &code);
  for (const auto& [name, content] : members) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    const auto index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    EXPECT_GE(index, 0);
    EXPECT_EQ(zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 0), 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  return posix_file_system().read_file(path);
}

std::span<const char> view(const std::string& bytes) { return {bytes.data(), bytes.size()}; }

// A valid dataset of five rows without next observations.
Members plain_members() {
  return {{"obs.npy", npy_of("<f4", "(5, 1)", raw<float>({0, 1, 2, 3, 4}))},
          {"actions.npy", npy_of("<f8", "(5, 1)", raw<double>({0, 1, 2, -2, 4}))},
          {"rewards.npy", npy_of("<i8", "(5,)", raw<int64_t>({1, 2, 3, 4, 5}))},
          {"dones.npy", npy_of("|u1", "(5, 1)", raw<uint8_t>({0, 1, 0, 0, 0}))},
          {"truncations.npy", npy_of("|b1", "(5,)", raw<uint8_t>({0, 0, 0, 1, 0}))}};
}

class NpzTest : public testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    std::ofstream(directory_ / "a.npz", std::ios::binary) << bytes;
    return directory_ / "a.npz";
  }
  // Returns the error message without the file name at its start, or "" if the file loads. The
  // message must start with the file name.
  std::string problem(const std::string& path) {
    try {
      load_npz_dataset(path);
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::data) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos);
      EXPECT_EQ(text.find(path + ": "), 0u) << text;
      return text.substr(std::min(text.size(), path.size() + 2));
    }
    return "";
  }
  std::string problem_of(Members members, const std::string& name, const std::string& content) {
    for (auto& [key, value] : members) {
      if (key == name) value = content;
    }
    return problem(write(zip_of(members)));
  }
  TemporaryDirectory directory_;
};

TEST_F(NpzTest, RoundTripKeepsTheFingerprint) {
  auto given = small_builder();
  given.give_next_actions(std::vector<float>{5, 6, 7, 8, 9}, {1, 0, 1, 1, 1});
  auto unflagged = small_builder();
  // The second of the following two episodes starts with the last observation of the first episode.
  // Only the array of episode starts in the file separates the two.
  unflagged.begin_episode(std::array{7.0f, 7.0f});
  unflagged.add(std::array{0.0f}, 1, std::array{8.0f, 8.0f}, false, false);
  unflagged.begin_episode(std::array{8.0f, 8.0f});
  unflagged.add(std::array{0.0f}, 1, std::array{9.0f, -0.0f}, false, false);
  const std::vector<TransitionDataset> datasets = {
      small_dataset(), small_dataset().with_next_actions(), std::move(given).build(),
      std::move(unflagged).build()};
  for (const auto& dataset : datasets) {
    const auto path = directory_ / "round.npz";
    save_npz_dataset(dataset, path);
    const auto first = posix_file_system().read_file(path);
    const auto loaded = load_npz_dataset(path);
    EXPECT_EQ(loaded.fingerprint(), dataset.fingerprint());
    EXPECT_EQ(loaded.episodes().size(), dataset.episodes().size());
    EXPECT_EQ(loaded.has_next_actions(), dataset.has_next_actions());
    save_npz_dataset(loaded, path);
    EXPECT_EQ(posix_file_system().read_file(path), first);  // the file contains no time stamps
  }
}

TEST_F(NpzTest, DerivesSuccessorsInsideEpisodes) {
  DatasetFileSummary summary;
  const auto data = load_npz_dataset(write(zip_of(plain_members())), nullptr, &summary);
  // Row 1 is terminal and needs no successor. Rows 3 (a time-out) and 4 (the last row) have no
  // successor and are dropped.
  ASSERT_EQ(data.rows(), 3);
  EXPECT_EQ(data.reward(2), 3);
  EXPECT_EQ(data.next_obs(0)[0], 1);
  EXPECT_TRUE(data.terminated(1));
  EXPECT_EQ(data.obs(2)[0], 2);
  EXPECT_EQ(data.next_obs(2)[0], 3);
  EXPECT_FALSE(data.truncated(2));
  ASSERT_EQ(data.episodes().size(), 2u);
  EXPECT_EQ(data.action(2)[0], 2);  // values beyond [-1, 1] are retained
  EXPECT_EQ(summary.rows, 5);
  EXPECT_EQ(summary.dropped_rows, 2);
  EXPECT_EQ(summary.terminals, 1);
  EXPECT_EQ(summary.timeouts, 1);
  EXPECT_EQ(summary.reward_sum, 15);
  EXPECT_FALSE(summary.has_next_observations);
}

TEST_F(NpzTest, ATimeoutAmongDonesIsNoTermination) {
  auto members = plain_members();
  members[3].second = npy_of("|u1", "(5,)", raw<uint8_t>({0, 1, 0, 1, 0}));
  DatasetFileSummary summary;
  const auto data = load_npz_dataset(write(zip_of(members)), nullptr, &summary);
  EXPECT_EQ(summary.terminals, 1);
  EXPECT_EQ(summary.timeouts, 1);
  EXPECT_EQ(data.rows(), 3);
  ASSERT_EQ(summary.warnings.size(), 1u);
  EXPECT_EQ(summary.warnings[0].code, "dones");
  // A flag array with an unambiguous name causes no warning.
  members[3].first = "terminals.npy";
  load_npz_dataset(write(zip_of(members)), nullptr, &summary);
  EXPECT_EQ(summary.terminals, 2);
  EXPECT_TRUE(summary.warnings.empty());
}

TEST_F(NpzTest, ScalesActionsByBounds) {
  const auto bounds = Space::box({-4}, {4}), two = Space::box({-1, -1}, {1, 1});
  const auto path = write(zip_of(plain_members()));
  const auto data = load_npz_dataset(path, &bounds);
  EXPECT_EQ(data.action(1)[0], 0.25f);
  EXPECT_EQ(data.action(2)[0], 0.5f);
  EXPECT_THROW(load_npz_dataset(path, &two), Error);
}

TEST_F(NpzTest, SplitsWhereSuccessorsDoNotFollow) {
  auto members = plain_members();
  members.emplace_back("next_obs.npy", npy_of("<f4", "(5, 1)", raw<float>({1, 9, 3, 9, 9})));
  members[3].second = npy_of("|u1", "(5,)", raw<uint8_t>({0, 0, 0, 0, 0}));
  const auto data = load_npz_dataset(write(zip_of(members)));
  ASSERT_EQ(data.rows(), 5);
  ASSERT_EQ(data.episodes().size(), 3u);
  EXPECT_EQ(data.episodes()[1].first_row, 2);
  EXPECT_EQ(data.next_obs(1)[0], 9);
  EXPECT_TRUE(data.truncated(3));
  EXPECT_FALSE(data.terminated(1));
}

TEST_F(NpzTest, DecodesEveryTypeAndOrder) {
  const auto numbers = zip_of(
      {{"f2.npy",
        npy_of("<f2", "(6,)", raw<uint16_t>({0x3c00, 0xc000, 0x0001, 0x7bff, 0x3555, 0x7c00}))},
       {"be.npy", npy_of(">f8", "(1,)", std::string("\x3f\xf8\0\0\0\0\0\0", 8))},
       {"i4.npy", npy_of(">i4", "(1,)", std::string("\xff\xff\xff\xfe", 4))},
       {"u2.npy", npy_of("<u2", "(1,)", raw<uint16_t>({65535}))},
       {"i1.npy", npy_of("|i1", "(1,)", raw<int8_t>({-7}))},
       {"f.npy", npy_of("<i4", "(2, 3)", raw<int32_t>({1, 4, 2, 5, 3, 6}), "True")},
       {"f3.npy", npy_of("<i4", "(2, 2, 2)", raw<int32_t>({0, 4, 2, 6, 1, 5, 3, 7}), "True")},
       {"scalar.npy", npy_of("<f4", "()", raw<float>({2.5f}))},
       {"empty.npy", npy_of("<f4", "(0, 3)", "")}},
      ZIP_CM_DEFLATE);
  NpzReader file(view(numbers), "numbers");
  const auto half = file.read_doubles("f2");
  EXPECT_EQ(half[0], 1);
  EXPECT_EQ(half[1], -2);
  EXPECT_EQ(half[2], std::ldexp(1.0, -24));
  EXPECT_EQ(half[3], 65504);
  EXPECT_EQ(half[4], 0.333251953125);
  EXPECT_TRUE(std::isinf(half[5]));
  EXPECT_EQ(file.read_doubles("be"), std::vector<double>{1.5});
  EXPECT_EQ(file.read_doubles("i4"), std::vector<double>{-2});
  EXPECT_EQ(file.read_doubles("u2"), std::vector<double>{65535});
  EXPECT_EQ(file.read_floats("i1"), std::vector<float>{-7});
  EXPECT_EQ(file.read_floats("f"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(file.read_floats("f3"), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(file.read_floats("scalar"), std::vector<float>{2.5f});
  EXPECT_TRUE(file.read_floats("empty").empty());
}

TEST_F(NpzTest, NamesKeyAndRowOfBadValues) {
  const auto members = plain_members();
  EXPECT_EQ(problem_of(members, "obs.npy", npy_of("<f4", "(5, 1)", raw<float>({0, 1, NAN, 3, 4}))),
            "obs: row 2, column 0 is not a finite float (got nan)");
  EXPECT_EQ(
      problem_of(members, "rewards.npy", npy_of("<f8", "(5,)", raw<double>({0, 1, 2, 1e300, 4}))),
      "rewards: row 3, column 0 is not a finite float (got 1e+300)");
  EXPECT_EQ(problem_of(members, "dones.npy", npy_of("|u1", "(5,)", raw<uint8_t>({0, 2, 0, 0, 0}))),
            "dones: row 1 is not a flag (expected 0 or 1, got 2)");
  EXPECT_EQ(problem_of(members, "rewards.npy", npy_of("|u1", "(4,)", "1234")),
            "rewards: wrong shape (expected (5,), got (4,))");
  EXPECT_EQ(problem_of(members, "obs.npy", npy_of("|u1", "(5, 0)", "")),
            "obs: wrong shape (expected (rows, dims), got (5, 0))");
  EXPECT_EQ(problem_of(members, "obs.npy", npy_of("|u1", "(5,)", "12345")),
            "obs: wrong shape (expected (rows, dims), got (5,))");
}

TEST_F(NpzTest, RefusesBadHeaders) {
  const std::string data = raw<float>({1, 2, 3, 4, 5});
  const std::vector<std::pair<std::string, std::string>> cases = {
      {npy_of("|O", "(5,)", data), "pickled objects"},
      {npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (5,), }", data),
       "structured"},
      {npy_of("<U4", "(5,)", data), "unsupported array type"},
      {npy_of("|f4", "(5,)", data), "unsupported array type"},
      {npy_of("<c8", "(5,)", data), "unsupported array type"},
      {npy_of("<f4", "(-5,)", data), "a dimension is not a number >= 0"},
      {npy_of("<f4", "(4611686018427387904, 8)", data), "too large"},
      {npy_of("<f4", "(0, 4611686018427387904, 8)", ""), "too large"},
      {npy_of("<f4", "(99999999999999999999,)", data), "a dimension is not a number"},
      {npy_of("<f4", "(1000000000,)", data), "does not fit the data"},
      {npy_of("<f4", "(6,)", data), "does not fit the data"},
      {npy_of("<f4", "(4,)", data), "does not fit the data"},
      {npy("__import__('os').system('true')", data), "expected `{`"},
      {npy("{'descr': '<f4', 'shape': (5,)}", data), "is missing"},
      {npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", data),
       "twice"},
      {npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (5,)}", data), "neither"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (5,), 'x': 1}", data),
       "unknown entry"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (5,)} + 1", data), "after the"},
      {npy("{'descr': '<f4", data), "a quote does not end"},
      {"", "magic"},
      {std::string("\x93NUMPX\x01\x00\x02\x00{}", 12), "magic"},
      {std::string("\x93NUMPY\x09\x00\x02\x00{}", 12), "unknown npy version"},
      {std::string("\x93NUMPY\x01\x00\xff\xff{}", 12), "runs past the data"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14), "runs past the data"},
      {std::string("\x93NUMPY\x02\x00\xff", 9), "magic"},
  };
  for (const auto& [content, expected] : cases) {
    const auto text = problem_of(plain_members(), "rewards.npy", content);
    EXPECT_EQ(text.find("rewards: "), 0u) << text;
    EXPECT_NE(text.find(expected), std::string::npos) << text << " lacks " << expected;
  }
}

TEST_F(NpzTest, RefusesBadArchives) {
  auto members = plain_members();
  members.emplace_back("observations.npy", members[0].second);
  EXPECT_NE(problem(write(zip_of(members))).find("the same data is also given"), std::string::npos);
  members.back().first = "../x.npy";
  EXPECT_NE(problem(write(zip_of(members))).find("unexpected member"), std::string::npos);
  EXPECT_NE(problem(write(zip_of(plain_members(), ZIP_CM_BZIP2))).find("unsupported compression"),
            std::string::npos);
  const auto valid = zip_of(plain_members());
  EXPECT_NE(problem(write(valid.substr(0, valid.size() / 2))).find("not a complete npz"),
            std::string::npos);
  EXPECT_NE(problem(write("")).find("not a complete npz"), std::string::npos);

  auto flipped = valid;
  flipped[flipped.find(raw<float>({0, 1, 2, 3, 4})) + 9] ^= 1;
  EXPECT_EQ(problem(write(flipped)), "obs: cannot read the array: CRC error");

  EXPECT_NE(problem(directory_ / "absent.npz").find("cannot open"), std::string::npos);
  std::filesystem::create_directory(directory_ / "d.npz");
  EXPECT_NE(problem(directory_ / "d.npz").find("not a regular file"), std::string::npos);
  for (const size_t missing : {0, 1, 2, 3}) {
    auto fewer = plain_members();
    fewer.erase(fewer.begin() + static_cast<int64_t>(missing));
    EXPECT_NE(problem(write(zip_of(fewer))).find("no such array"), std::string::npos);
  }
}

TEST_F(NpzTest, RefusesABombBeforeInflatingIt) {
  // The zip directory declares that a few bytes unpack to 1.5 GB. The reader must not allocate
  // memory of that size.
  auto bytes = zip_of(plain_members(), ZIP_CM_DEFLATE);
  const auto entry = bytes.find("PK\x01\x02");
  const uint32_t size = 1'500'000'000;
  std::memcpy(bytes.data() + entry + 24, &size, 4);
  EXPECT_NE(problem(write(bytes)).find("decompression bomb"), std::string::npos);
}

TEST_F(NpzTest, EveryByteMayBeWrong) {
  const auto valid = zip_of(plain_members(), ZIP_CM_DEFLATE);
  Rng rng(11);
  int refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    auto bytes = valid;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    }
    if (rng.below(8) == 0) bytes.resize(rng.below(bytes.size()));
    try {
      NpzReader file(view(bytes), "mutant");
      for (const auto& key : file.keys()) file.read_doubles(key);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

// Tests files that were written by other programs.
class NpzFixtures : public NpzTest {
 protected:
  void SetUp() override {
    std::ifstream file(kFixtures + "expected.json");
    file >> expected_;
  }
  nlohmann::json expected_;
};

TEST_F(NpzFixtures, ValidFilesLoadWithTheRightSums) {
  int files = 0;
  for (const auto& [name, facts] : expected_["valid"].items()) {
    if (!name.ends_with(".npz")) continue;
    SCOPED_TRACE(name);
    ++files;
    DatasetFileSummary summary;
    const auto data = load_npz_dataset(kFixtures + name, nullptr, &summary);
    EXPECT_EQ(summary.rows, facts["n"].get<int64_t>());
    EXPECT_EQ(summary.reward_sum, facts["reward_sum"].get<double>());
    if (!facts.contains("obs_sum")) {  // without successors, ten episodes lose their last row
      EXPECT_EQ(data.rows(), 1990);
      EXPECT_EQ(data.episodes().size(), 10u);
      continue;
    }
    ASSERT_EQ(data.rows(), facts["n"].get<int64_t>());
    EXPECT_EQ(summary.timeouts, facts["timeouts"].get<int64_t>());
    EXPECT_EQ(summary.terminals, facts["terminals"].get<int64_t>());
    EXPECT_EQ(data.episodes().size(), 10u);
    std::vector<double> obs_sum(3);
    double action_sum = 0, reward_sum = 0;
    for (int64_t row = 0; row < data.rows(); ++row) {
      for (size_t k = 0; k < 3; ++k) obs_sum[k] += data.obs(row)[k];
      action_sum += data.action(row)[0];
      reward_sum += data.reward(row);
    }
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(obs_sum[k], facts["obs_sum"][k].get<double>(), 1e-9);
    }
    EXPECT_NEAR(action_sum, facts["act_sum"][0].get<double>(), 1e-9);
    EXPECT_NEAR(reward_sum, facts["reward_sum"].get<double>(), 1e-9);
  }
  EXPECT_EQ(files, 6);
}

TEST_F(NpzFixtures, MalformedFilesAreRefused) {
  int files = 0;
  for (const auto& [name, facts] : expected_["malformed"].items()) {
    if (!name.ends_with(".npz")) continue;
    ++files;
    const auto text = problem(kFixtures + name);
    if (name.find("VALID") != std::string::npos) {
      EXPECT_EQ(text, "") << name;
    } else {
      EXPECT_NE(text, "") << name << " loads, though: " << facts["why"];
    }
  }
  EXPECT_EQ(files, 17);
}

TEST(SavedDatasets, ImagesAreRejected) {
  DatasetBuilder builder(Space::image(1, 2, 2), Space::unit_box(1));
  const std::vector<uint8_t> pixels(4);
  const SpaceValue image(pixels);
  const float action = 0;
  builder.begin_episode(image);
  builder.add(SpaceValue(std::span<const float>(&action, 1)), 0, image, true, false);
  const auto dataset = std::move(builder).build();
  const TemporaryDirectory directory;
  const auto rejected = [](const std::function<void()>& save) {
    try {
      save();
    } catch (const Error& error) {
      return std::string(error.what()).starts_with("datasets of images cannot be saved");
    }
    return false;
  };
  EXPECT_TRUE(rejected([&] { save_npz_dataset(dataset, directory / "images.npz"); }));
  EXPECT_TRUE(rejected([&] { save_d4rl_dataset(dataset, directory / "images.hdf5"); }));
  EXPECT_TRUE(rejected([&] { save_minari_dataset(dataset, directory / "images-v0", {}); }));
}

}  // namespace
}  // namespace rl_training
