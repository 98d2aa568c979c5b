#include <gtest/gtest.h>

#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/hdf5_writer.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

const std::string kFolder = std::string(SOURCE_DIR) + "/tests/data/fixtures/";

// Reads one array. Returns the error message, or "" if there is no error.
std::string hdf5_problem(const std::string& name, const std::string& key) {
  const auto path = kFolder + name;
  try {
    run_in_sandbox(path, SandboxLimits::for_file(path), [&](SandboxOutput&) {
      Hdf5File file(path);
      forbid_opening_files();
      file.read_floats(key);
    });
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_EQ(error.place().file, path);
    EXPECT_EQ(error.place().key, key);
    return error.message();
  }
  return "";
}

TEST(Hdf5File, NeverLooksIntoOtherFiles) {
  EXPECT_EQ(hdf5_problem("crashers/ext.h5", "actions"), "data in external files are not read");
  EXPECT_EQ(hdf5_problem("crashers/link.h5", "rewards"),
            "is a link to another file, which is not read");
  EXPECT_EQ(hdf5_problem("malformed/virtual.h5", "rewards"), "virtual datasets are not read");
  EXPECT_EQ(hdf5_problem("malformed/external_link.hdf5", "observations"),
            "is a link to another file, which is not read");
}

TEST(Hdf5File, RefusesWhatIsTooLargeBeforeReadingIt) {
  EXPECT_EQ(
      hdf5_problem("malformed/bomb.h5", "rewards").find("shape (500000000,) does not fit the data"),
      0u);
  EXPECT_EQ(hdf5_problem("malformed/huge_extent.hdf5", "observations")
                .find("shape (1099511627776, 3) is larger"),
            0u);
}

TEST(Hdf5File, ListsAndReads) {
  const TemporaryDirectory directory;
  const auto path = directory / "a.h5";
  const SandboxLimits limits{int64_t{256} << 20, 1 << 20, 20};
  const auto written = run_in_sandbox(path, limits, [](SandboxOutput& output) {
    Hdf5Writer file;
    file.add("b", std::array<int64_t, 2>{2, 2}, std::vector<float>{1, 2, 3, 4.5f});
    file.add_flags("a", std::vector<uint8_t>{0, 1, 1});
    file.add_attribute("", "count", int64_t{7});
    const auto bytes = file.bytes();
    output.array(bytes.data(), static_cast<int64_t>(bytes.size()));
  });
  const auto bytes = written.arrays.at(0).span();
  write_all(path, {bytes.begin(), bytes.end()});
  run_in_sandbox(path, limits, [&](SandboxOutput&) {
    Hdf5File file(path);
    const auto check = [&](bool fine, const char* what) {
      if (!fine) throw Error(ErrorKind::internal, what);
    };
    check(file.names("") == std::vector<std::string>{"a", "b"}, "names");
    check(file.shape("b") == std::vector<int64_t>{2, 2}, "shape");
    check(file.read_floats("b") == std::vector<float>{1, 2, 3, 4.5f}, "floats");
    check(file.read_doubles("a") == std::vector<double>{0, 1, 1}, "flags");
    check(file.has("a") && !file.has("c") && !file.has("a/x") && !file.is_group("a"), "has");
    check(file.integer_attribute("count") == 7 && !file.integer_attribute("none"), "attribute");
    check(!file.text_attribute("count"), "text attribute");
  });
}

// Large compressed arrays are read in a different way from small ones: chunk by chunk, on several
// threads.
TEST(Hdf5File, UnpacksChunksOfLargeArrays) {
  const std::string path = std::string(SOURCE_DIR) + "/tests/data/fixtures/d4rl/large_chunks.hdf5";
  const auto sums = [&](const std::string& key) {
    const auto text =
        run_in_sandbox(path, SandboxLimits::for_file(path), [&](SandboxOutput& output) {
          Hdf5File file(path);
          const auto floats = file.read_floats(key);
          const auto doubles = file.read_doubles(key);
          const auto columns = static_cast<size_t>(file.shape(key).at(1));
          double whole = 0, weighted = 0, blocks = 0;
          for (size_t i = 0; i < floats.size(); ++i) {
            whole += floats[i];
            weighted += doubles[i] * static_cast<double>(i % 1009);
          }
          const auto add = [&](int64_t first, std::span<const float> values) {
            for (size_t i = 0; i < values.size(); ++i) {
              blocks += values[i] *
                        static_cast<double>((static_cast<size_t>(first) * columns + i) % 1009);
            }
          };
          file.read_blocks(key, ArraySource::BlockUser<float>(add));
          output.text(std::to_string(floats.size()) + " " + std::to_string(whole) + " " +
                      std::to_string(weighted) + " " + std::to_string(blocks));
        }).text;
    return text;
  };
  // The element in row i and column k is (i * columns + k) % 251 / 4, which is exact in float32 and
  // float64. The elements of the missing chunk are 0.
  for (const auto& [key, rows, columns] : {std::tuple{"float32_rows", 100'000, 3},
                                           {"float32_columns", 100'000, 3},
                                           {"float64_shuffled", 70'001, 5},
                                           {"float32_shuffled", 100'003, 3},
                                           {"float32_unpacked", 100'000, 3},
                                           {"float32_missing_chunk", 100'000, 3}}) {
    double whole = 0, weighted = 0;
    const int64_t filled = std::string(key) == "float32_missing_chunk" ? 50'000 : rows;
    for (int64_t i = 0; i < filled * columns; ++i) {
      whole += static_cast<double>(i % 251) / 4;
      weighted += static_cast<double>(i % 251) / 4 * static_cast<double>(i % 1009);
    }
    EXPECT_EQ(sums(key), std::to_string(rows * columns) + " " + std::to_string(whole) + " " +
                             std::to_string(weighted) + " " + std::to_string(weighted))
        << key;
  }
}

}  // namespace
}  // namespace rl_training
