#include <gtest/gtest.h>

#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/hdf5_writer.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

const std::string kMalformed = std::string(SOURCE_DIR) + "/tests/data/fixtures/malformed/";

// What becomes of reading one array.
std::string problem(const std::string& name, const std::string& key) {
  const auto path = kMalformed + name;
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
  EXPECT_EQ(problem("ext.h5", "actions"), "data in external files are not read");
  EXPECT_EQ(problem("link.h5", "rewards"), "is a link to another file, which is not read");
  EXPECT_EQ(problem("virtual.h5", "rewards"), "virtual datasets are not read");
  EXPECT_EQ(problem("external_link.hdf5", "observations"),
            "is a link to another file, which is not read");
}

TEST(Hdf5File, RefusesWhatIsTooLargeBeforeReadingIt) {
  EXPECT_EQ(problem("bomb.h5", "rewards").find("shape (500000000,) does not fit the data"), 0u);
  EXPECT_EQ(problem("huge_extent.hdf5", "observations").find("shape (1099511627776, 3) is larger"),
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
    file.add_attribute("count", 7);
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

}  // namespace
}  // namespace rl_training
