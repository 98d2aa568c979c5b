#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <numeric>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/flat_steps.h"
#include "rl_training/data/plain_file.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/data/sandbox_channel.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

using Item = PlainArray::Item;

// Writes arrays to a file at unaligned offsets.
class RawFile {
 public:
  template <class T>
  void add(const std::string& key, Item item, std::vector<int64_t> shape,
           const std::vector<T>& values) {
    bytes_ += "gap";
    arrays_[key] = {item, std::move(shape), static_cast<int64_t>(bytes_.size())};
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  Json write(const std::string& path) const {
    write_all(path, bytes_);
    return PlainFile::describe(PlainFile::marks(path), arrays_);
  }
  PlainArrays& arrays() { return arrays_; }

 private:
  std::string bytes_;
  PlainArrays arrays_;
};

std::string problem(const std::string& path, const Json& description) {
  try {
    HeapMemory memory;
    const PlainFile file(path, description, memory);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "";
}

TEST(PlainFile, ReadsEveryTypeInOneBlockOrMany) {
  const TemporaryDirectory directory;
  const auto path = directory / "raw";
  RawFile raw;
  std::vector<double> large(300'000);
  std::iota(large.begin(), large.end(), -5.0);
  raw.add("int8", Item::int8, {2, 1}, std::vector<int8_t>{-1, 127});
  raw.add("uint8", Item::uint8, {2}, std::vector<uint8_t>{1, 255});
  raw.add("float32", Item::float32, {1, 3}, std::vector<float>{0.1f, -2, 3});
  raw.add("large", Item::float64, {100'000, 3}, large);
  HeapMemory memory;
  PlainFile file(path, raw.write(path), memory);

  EXPECT_EQ(file.read_doubles("int8"), (std::vector<double>{-1, 127}));
  EXPECT_EQ(file.read_floats("uint8"), (std::vector<float>{1, 255}));
  EXPECT_EQ(file.read_doubles("float32"), (std::vector<double>{0.1f, -2, 3}));
  EXPECT_EQ(file.shape("large"), (std::vector<int64_t>{100'000, 3}));
  EXPECT_FALSE(file.has("other"));
  const std::vector<float> expected(large.begin(), large.end());
  EXPECT_EQ(file.read_floats("large"), expected);

  std::vector<float> out(large.size());
  std::mutex mutex;
  int64_t rows = 0, blocks = 0;
  file.read_into("large", out, [&](int64_t first, std::span<const float> values) {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(values.back(), expected[static_cast<size_t>(first) * 3 + values.size() - 1]);
    rows += static_cast<int64_t>(values.size()) / 3;
    ++blocks;
  });
  EXPECT_EQ(out, expected);
  EXPECT_EQ(rows, 100'000);
  EXPECT_GT(blocks, 1);
}

TEST(PlainFile, ReadsIntoMemoryThatIsAFile) {
  const TemporaryDirectory directory;
  RawFile raw;
  std::vector<float> values(300'000);
  std::iota(values.begin(), values.end(), -5.0f);
  raw.add("x", Item::float32, {100'000, 3}, values);
  const auto path = directory / "raw", target = directory / "target";
  const Descriptor output(::open(target.c_str(), O_RDWR | O_CREAT, 0600));
  {
    SandboxSender memory(output.get());
    const ColumnBuffer<float> before(memory, 5), column(memory, 300'000);
    PlainFile file(path, raw.write(path), memory);
    file.read_into("x", column.first(300'000), [](int64_t, std::span<const float>) {});
    EXPECT_TRUE(std::equal(values.begin(), values.end(), column.data));
    EXPECT_EQ(std::count(before.data, before.data + 5, 0.0f), 5);
    std::vector<float> elsewhere(values.size());  // memory outside of the file
    file.read_into("x", elsewhere, [](int64_t, std::span<const float>) {});
    EXPECT_EQ(elsewhere, values);
    memory.array(column.data, 300'000 * 4);
    memory.finish();
  }
  const auto found = receive_from_sandbox(output.get()).arrays.at(0);
  ASSERT_EQ(found.size(), 300'000 * 4);
  EXPECT_EQ(std::memcmp(found.data(), values.data(), 300'000 * 4), 0);
}

TEST(PlainFile, OfSeveralErrorsThatOfTheFirstRowIsThrown) {
  const TemporaryDirectory directory;
  const auto path = directory / "raw";
  std::vector<float> values(400'000, 1.0f);
  for (size_t i = 100'001; i < values.size(); i += 1000) {
    values[i] = std::numeric_limits<float>::quiet_NaN();
  }
  RawFile raw;
  raw.add("x", Item::float32, {200'000, 2}, values);
  HeapMemory memory;
  PlainFile file(path, raw.write(path), memory);
  const auto look = [&](int64_t first, std::span<const float> block) {
    check_finite(file.place("x"), block, 2, first);
  };
  for (int i = 0; i < 10; ++i) {
    try {
      file.read_blocks("x", ArraySource::BlockUser<float>(look));
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "row 50000, column 1 is not a finite float (got nan)");
    }
  }
}

TEST(PlainFile, NothingOutsideTheFileIsRead) {
  const TemporaryDirectory directory;
  const auto path = directory / "raw";
  RawFile raw;
  raw.add("x", Item::float32, {4}, std::vector<float>{1, 2, 3, 4});
  const auto good = raw.write(path);
  EXPECT_EQ(problem(path, good), "");
  const int64_t huge = std::numeric_limits<int64_t>::max();
  const std::vector<PlainArray> bad = {
      {Item::float32, {5}, 3},
      {Item::float64, {4}, 3},
      {Item::float32, {4}, 4},
      {Item::float32, {4}, -1},
      {Item::float32, {4}, huge},
      {Item::float32, {-4}, 3},
      {Item::float32, {huge, huge}, 3},
      {Item::float32, {huge / 4 + 1}, 3},
      {Item::int8, {0}, 3},
  };
  for (const auto& array : bad) {
    raw.arrays()["x"] = array;
    EXPECT_EQ(problem(path, raw.write(path)), path + ": x: extends beyond the file")
        << array.shape[0] << " at " << array.offset;
  }
  raw.arrays()["x"] = {static_cast<Item>(9), {4}, 3};
  EXPECT_EQ(problem(path, raw.write(path)), path + ": x: unknown type of numbers");
}

TEST(PlainFile, NoticesThatTheFileChanged) {
  const TemporaryDirectory directory;
  const auto path = directory / "raw";
  RawFile raw;
  raw.add("x", Item::float32, {4}, std::vector<float>{1, 2, 3, 4});
  const auto description = raw.write(path);
  {
    HeapMemory memory;
    PlainFile file(path, description, memory);
    std::filesystem::resize_file(path, 8);
    try {
      file.read_floats("x");
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "the file ends before the array");
    }
  }
  EXPECT_EQ(problem(path, description), path + ": changed while it was read");
  std::filesystem::remove(path);
  EXPECT_NE(problem(path, description).find("cannot open"), std::string::npos);
}

// If a file contains names of columns, libhdf5 reads even its plain arrays.
TEST(PlainFile, NamesOfColumnsAreKept) {
  const auto path = std::string(SOURCE_DIR) + "/tests/data/fixtures/d4rl/plain_with_names.hdf5";
  const auto data = load_dataset_file("d4rl", path);
  EXPECT_EQ(data.observation_names(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(data.action_names(), std::vector<std::string>{"u"});
}

// The first file has plain arrays. The second is a compressed copy, which libhdf5 reads. Both must
// yield the same data.
TEST(PlainFile, GivesWhatLibhdf5Gives) {
  const std::string fixtures = std::string(SOURCE_DIR) + "/tests/data/fixtures/d4rl/";
  const auto look = [](const std::string& path) {
    const auto describe = [&](SandboxOutput& output) {
      output.text(describe_plain_d4rl(path).dump());
    };
    return Json::parse(run_in_sandbox(path, SandboxLimits::for_file(path), describe).text);
  };
  const auto plain = fixtures + "plain.hdf5", packed = fixtures + "plain_as_chunks.hdf5";
  EXPECT_EQ(look(plain).at("plain").at("arrays").size(), 6u);
  EXPECT_TRUE(look(packed).is_null());
  for (const auto policy : {TimeoutPolicy::drop, TimeoutPolicy::keep}) {
    DatasetReadOptions options;
    options.timeout_policy = policy;
    DatasetFileSummary ours, theirs;
    const auto one = load_dataset_file("d4rl", plain, options, &ours);
    const auto other = load_dataset_file("d4rl", packed, options, &theirs);
    EXPECT_EQ(one.fingerprint(), other.fingerprint());
    // One of the two time-outs stores the observation of the next row as its successor. The reader
    // does not trust such a successor, so even the time-out policy `keep` drops this row.
    EXPECT_EQ(one.rows(), policy == TimeoutPolicy::drop ? 297 : 299);
    EXPECT_EQ(ours.reward_sum, theirs.reward_sum);
    EXPECT_EQ(ours.episodes, 6);  // one episode is split in two
    EXPECT_EQ(ours.dropped_rows, theirs.dropped_rows);
  }
}

}  // namespace
}  // namespace rl_training
