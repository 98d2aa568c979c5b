#include <gtest/gtest.h>

#include <filesystem>

#include "rl_training/data/dataset_file.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

class ForeignFormatTest : public testing::Test {
 protected:
  std::string problem(const std::string& name, const std::string& bytes) {
    const auto path = directory_ / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    write_all(path, bytes);
    return problem_of(path);
  }
  static std::string problem_of(const std::string& path) {
    try {
      detect_dataset_kind(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      const std::string what = error.what();
      EXPECT_EQ(what.find('\n'), std::string::npos);
      return what.substr(path.size() + 2);
    }
    return "no error";
  }
  TemporaryDirectory directory_;
};

TEST_F(ForeignFormatTest, SaysWhatItIsAndHowToConvertIt) {
  const auto begins = [](const std::string& text, const std::string& start) {
    return text.substr(0, start.size()) == start ? "" : text;
  };
  const std::string not_read = ", which is not read (expected HDF5, npz or csv): ";
  EXPECT_EQ(
      begins(problem("a.bin", "PAR1...."), "a Parquet file" + not_read + "convert it with pan"),
      "");
  EXPECT_EQ(begins(problem("b.bin", "ARROW1.."), "an Arrow file" + not_read), "");
  EXPECT_EQ(begins(problem("c.bin", "\x80\x04\x95..."),
                   "a Python pickle, which could run code and is never loaded" + not_read +
                       "load it in Python and save the arrays: numpy.savez"),
            "");
  EXPECT_EQ(begins(problem("c.pkl", "(dp0\n"), "a Python pickle"), "");
  EXPECT_EQ(begins(problem("d.pt", "PK\x03\x04..."), "a PyTorch file"), "");
  EXPECT_EQ(begins(problem("e.bin", "\x89PNG\r\n\x1a\n"), "an image" + not_read + "encode"), "");
  EXPECT_EQ(begins(problem("f.jpg", "\xff\xd8\xff\xe0"), "an image" + not_read), "");
  EXPECT_EQ(begins(problem("g.tfrecord-00000-of-00001", "x"), "an RLDS dataset" + not_read), "");
  EXPECT_EQ(begins(problem("h.npy", "\x93NUMPY\x01"), "one NumPy array" + not_read), "");
  EXPECT_EQ(begins(problem("i.gz", "\x1f\x8b\x08"), "a gzip file (expected one named .csv.gz"), "");
  problem("rlds/1.0.0/dataset_info.json", "{}");
  EXPECT_EQ(begins(problem_of(directory_ / "rlds/1.0.0"), "an RLDS dataset" + not_read), "");
  problem("frames/0001.png", "x");
  EXPECT_EQ(begins(problem_of(directory_ / "frames"), "a directory of images" + not_read), "");
  problem("lerobot/meta/info.json", "{}");
  EXPECT_EQ(begins(problem_of(directory_ / "lerobot"), "a LeRobot dataset" + not_read), "");
}

TEST_F(ForeignFormatTest, OurOwnKindsAreNoneOfThem) {
  EXPECT_EQ(problem("a.csv", "obs,action\n"), "no error");
  EXPECT_EQ(problem("a.tsv", "obs\taction\n"), "no error");
  EXPECT_EQ(problem("a.csv.gz", "\x1f\x8b\x08"), "no error");
  EXPECT_EQ(problem("a.npz", "PK\x03\x04"), "no error");
}

}  // namespace
}  // namespace rl_training
