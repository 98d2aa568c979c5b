#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>

#include "rl_training/experiment/safetensors.h"
#include "rl_training/experiment/state_archive.h"
#include "rl_training/util/error.h"
#include "rl_training/util/json.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_safetensors {
namespace {

ArchiveEntry floats(const std::string& name, const std::vector<float>& values) {
  ArchiveEntry entry{name, DType::f32, {static_cast<int64_t>(values.size())}, {}};
  entry.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return entry;
}

// Returns a file with the given header and `data_bytes` bytes of data.
std::string file_of(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header +
         std::string(data_bytes, 'x');
}

std::string rejection(const std::string& bytes) {
  try {
    read_safetensors(bytes, "a.safetensors");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
    EXPECT_EQ(error.place().file, "a.safetensors");
    return error.what();
  }
  return "accepted";
}

TEST(Safetensors, WritesTheExpectedBytes) {
  const std::string bytes =
      write_safetensors({{"flag", DType::u8, {}, "\x01"}, floats("w", {1.0F, -2.0F})});
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("flag":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  const uint64_t length = padded.size();
  std::string expected(reinterpret_cast<const char*>(&length), 8);
  expected += padded;
  expected += std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0\x01", 9);
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(length % 8, 0U);
}

TEST(Safetensors, BytesDoNotDependOnTheOrderOfEntries) {
  const auto a = floats("a", {1.0F});
  const auto b = floats("b", {2.0F, 3.0F});
  const ArchiveEntry n{"n", DType::i64, {}, std::string(8, '\2')};
  EXPECT_EQ(write_safetensors({a, b, n}), write_safetensors({n, b, a}));
}

TEST(Safetensors, RoundTripsEveryTypeAndShape) {
  std::vector<ArchiveEntry> entries;
  for (const DType dtype : {DType::i64, DType::u64, DType::f64, DType::f32, DType::u8}) {
    for (const auto& shape : std::vector<std::vector<int64_t>>{{}, {0}, {3}, {2, 3}, {2, 0, 4}}) {
      int64_t count = 1;
      for (const int64_t size : shape) count *= size;
      ArchiveEntry entry{"net." + std::to_string(entries.size()), dtype, shape, {}};
      for (int64_t i = 0; i < count * dtype_size(dtype); ++i) {
        entry.bytes += static_cast<char>(i * 37 + static_cast<int64_t>(entries.size()));
      }
      entries.push_back(entry);
    }
  }
  const auto loaded = read_safetensors(write_safetensors(entries), "f");
  ASSERT_EQ(loaded.size(), entries.size());
  for (const auto& entry : entries) {
    const auto found = std::find_if(loaded.begin(), loaded.end(),
                                    [&](const ArchiveEntry& e) { return e.name == entry.name; });
    ASSERT_NE(found, loaded.end()) << entry.name;
    EXPECT_EQ(found->dtype, entry.dtype);
    EXPECT_EQ(found->shape, entry.shape);
    EXPECT_EQ(found->bytes, entry.bytes);
  }
  EXPECT_TRUE(read_safetensors(write_safetensors({}), "f").empty());
}

TEST(Safetensors, WriterRefusesWhatItCannotStore) {
  EXPECT_THROW(write_safetensors({floats("a", {1.0F}), floats("a", {2.0F})}), Error);
  EXPECT_THROW(write_safetensors({{"a", DType::f32, {2}, "1234"}}), Error);
  EXPECT_THROW(write_safetensors({{"a", DType::u8, {-1}, ""}}), Error);
  EXPECT_THROW(write_safetensors({{"__metadata__", DType::u8, {1}, "1"}}), Error);
}

TEST(Safetensors, RefusesMalformedFiles) {
  const auto one = [](const std::string& value) { return "{\"a\":" + value + "}"; };
  const std::string good = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  ASSERT_EQ(rejection(file_of(one(good), 8)), "accepted");
  ASSERT_EQ(rejection(file_of(one(good) + "   ", 8)), "accepted");
  ASSERT_EQ(rejection(file_of(R"({"__metadata__":{"k":"v"},"a":)" + good + "}", 8)), "accepted");

  struct Case {
    std::string bytes;
    std::string part;
  };
  const std::vector<Case> cases = {
      {"", "too short"},
      {"1234567", "too short"},
      {std::string(8, '\xff'), "header of"},
      {file_of(one(good), 8).substr(0, 20), "header of"},
      {file_of("", 0), "not a JSON object"},
      {file_of(" " + one(good), 8), "not a JSON object"},
      {file_of("[]", 0), "not a JSON object"},
      {file_of("{", 0), "not valid JSON"},
      {file_of(one(good) + "{}", 8), "not valid JSON"},
      {file_of(one(good) + std::string("\0 hidden", 8), 8), "not valid JSON"},
      {file_of("{\"\xff\":" + good + "}", 8), "not valid JSON"},
      {file_of(one(std::string(1000, '[')), 0), "too deeply"},
      {file_of("{\"a\":" + good + ",\"a\":" + good + "}", 8), "a: duplicate key"},
      {file_of(one(R"({"dtype":"F32","dtype":"U8","shape":[2],"data_offsets":[0,8]})"), 8),
       "dtype: duplicate key"},
      {file_of(one("1"), 0), "a: the header entry"},
      {file_of(one(R"({"dtype":"F32","shape":[2]})"), 8), "a: the header entry"},
      {file_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"), 8),
       "a: the header entry"},
      {file_of(one(R"({"dtype":"F99","shape":[2],"data_offsets":[0,8]})"), 8), "unknown dtype"},
      {file_of(one(R"({"dtype":7,"shape":[2],"data_offsets":[0,8]})"), 8), "unknown dtype"},
      {file_of(one(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"), 8), "shape is not"},
      {file_of(one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), 8), "shape contains"},
      {file_of(one(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"), 8), "shape contains"},
      {file_of(one(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})"), 8),
       "shape contains"},
      // The size of 2^62 * 4 * 4 bytes overflows to 0.
      {file_of(one(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]})"), 0),
       "do not fit"},
      {file_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"), 4), "do not fit"},
      {file_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), 8), "do not fit"},
      {file_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"), 8), "do not fit"},
      {file_of(one(R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})"), 12), "gap or overlap"},
      {file_of("{\"a\":" + good + ",\"b\":" + good + "}", 8), "gap or overlap"},
      {file_of(one(good), 7), "bytes of arrays"},
      {file_of(one(good), 9), "bytes of arrays"},
      {file_of(R"({"__metadata__":{"k":1},"a":)" + good + "}", 8), "not an object of strings"},
  };
  for (const auto& [bytes, part] : cases) {
    const std::string text = rejection(bytes);
    EXPECT_NE(text.find(part), std::string::npos) << "got: " << text << "\nwanted: " << part;
  }
}

TEST(Safetensors, ManyNamesInAHeaderStayCheap) {
  std::string header = "{";
  for (int i = 0; i < 100000; ++i) {
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  EXPECT_EQ(read_safetensors(file_of(header + "}", 0), "f").size(), 100000U);
}

TEST(Safetensors, ReadsAFileOfThePublicLibrary) {
  const std::string path =
      std::string(SOURCE_DIR) + "/tests/experiment/fixtures/by_library.safetensors";
  std::map<std::string, ArchiveEntry> entries;
  for (auto& entry : read_safetensors(read_all(path), path)) entries[entry.name] = entry;
  ASSERT_EQ(entries.size(), 4U);
  const auto expect = [&]<typename T>(const std::string& name, DType dtype,
                                      const std::vector<int64_t>& shape,
                                      const std::vector<T>& values) {
    const ArchiveEntry& entry = entries.at(name);
    EXPECT_EQ(entry.dtype, dtype) << name;
    EXPECT_EQ(entry.shape, shape) << name;
    ASSERT_EQ(entry.bytes.size(), values.size() * sizeof(T)) << name;
    EXPECT_EQ(std::memcmp(entry.bytes.data(), values.data(), entry.bytes.size()), 0) << name;
  };
  expect("weight", DType::f32, {2, 3}, std::vector<float>{0, 0.25, 0.5, 0.75, 1, 1.25});
  expect("bias", DType::f32, {2}, std::vector<float>{-1.5, 2});
  expect("steps", DType::i64, {}, std::vector<int64_t>{7});
  expect("flags", DType::u8, {3}, std::vector<uint8_t>{1, 0, 1});
}

struct Inner {
  double best = 0.0;
  bool done = false;
  void visit_state(StateVisitor& state) {
    state.scalar("best", best);
    state.scalar("done", done);
  }
};

struct Outer {
  std::array<float, 6> weights{};
  int64_t step = 0;
  uint64_t key = 0;
  std::string note;
  Inner inner;
  std::vector<int64_t> shape{2, 3};
  void visit_state(StateVisitor& state) {
    state.array("weights", DType::f32, shape, weights.data());
    state.scalar("step", step);
    state.scalar("key", key);
    state.text("note", note);
    state.part("inner", inner);
  }
};

Outer example() {
  return {{1, 2, 3, 4, 5, -6}, 7, 1ULL << 63, std::string("a\0b", 3), {0.25, true}, {2, 3}};
}

std::function<void(StateVisitor&)> visiting(Outer& object) {
  return [&object](StateVisitor& state) { object.visit_state(state); };
}

TEST(StateArchive, RestoresEverything) {
  Outer saved = example();
  const auto entries = read_safetensors(write_safetensors(save_state(visiting(saved))), "f");
  Outer loaded;
  load_state(entries, "f", visiting(loaded));
  EXPECT_EQ(loaded.weights, saved.weights);
  EXPECT_EQ(loaded.step, 7);
  EXPECT_EQ(loaded.key, 1ULL << 63);
  EXPECT_EQ(loaded.note, std::string("a\0b", 3));
  EXPECT_EQ(loaded.inner.best, 0.25);
  EXPECT_TRUE(loaded.inner.done);
  EXPECT_EQ(hash_state(visiting(loaded)), hash_state(visiting(saved)));
}

TEST(StateArchive, HashSeesEachPart) {
  Outer plain = example();
  const std::string hash = hash_state(visiting(plain));
  EXPECT_EQ(hash.size(), 64U);
  const auto changed = [&](auto change) {
    Outer object = example();
    change(object);
    return hash_state(visiting(object)) != hash;
  };
  EXPECT_FALSE(changed([](Outer&) {}));
  EXPECT_TRUE(changed([](Outer& o) { o.weights[5] = 6; }));
  EXPECT_TRUE(changed([](Outer& o) { o.step = 8; }));
  EXPECT_TRUE(changed([](Outer& o) { o.note = "a"; }));
  EXPECT_TRUE(changed([](Outer& o) { o.inner.done = false; }));
  EXPECT_TRUE(changed([](Outer& o) { o.shape = {3, 2}; }));
}

std::string key_of_failure(const std::vector<ArchiveEntry>& entries, bool allow_unvisited = false) {
  Outer loaded;
  try {
    load_state(entries, "file", visiting(loaded), allow_unvisited);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
    EXPECT_EQ(error.place().file, "file");
    return error.place().key;
  }
  return "loaded";
}

TEST(StateArchive, NamesWhatDoesNotFit) {
  Outer saved = example();
  const auto entries = save_state(visiting(saved));
  ASSERT_EQ(key_of_failure(entries), "loaded");
  for (size_t i = 0; i < entries.size(); ++i) {
    auto missing = entries;
    missing.erase(missing.begin() + static_cast<int64_t>(i));
    EXPECT_EQ(key_of_failure(missing), entries[i].name);

    auto wrong_type = entries;
    wrong_type[i].dtype = wrong_type[i].dtype == DType::i64 ? DType::u64 : DType::i64;
    EXPECT_EQ(key_of_failure(wrong_type), entries[i].name);

    auto wrong_shape = entries;
    wrong_shape[i].shape = {1, 1, 1};
    EXPECT_EQ(key_of_failure(wrong_shape), entries[i].name);
  }
  auto extra = entries;
  extra.push_back(floats("optimiser.m", {1.0F}));
  EXPECT_EQ(key_of_failure(extra), "optimiser.m");
  EXPECT_EQ(key_of_failure(extra, true), "loaded");
}

}  // namespace
}  // namespace rl_training::test_safetensors
