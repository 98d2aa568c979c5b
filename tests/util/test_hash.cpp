#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

// The values of the non-empty texts are those of FIPS 180-2, appendix B.
TEST(Sha256, CheckValues) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesEqualTheWhole) {
  Sha256 hash;
  hash.add("a");
  hash.add("");
  hash.add("bc", 2);
  EXPECT_EQ(hash.hex(), sha256_hex("abc"));
}

// The expected values come from `xxhsum -H128`, the tool of xxHash's authors.
TEST(ContentHash, CheckValues) {
  const auto hash_of = [](std::string_view text) {
    ContentHash hash;
    hash.add(text.data(), text.size());
    return hash.hex();
  };
  EXPECT_EQ(hash_of(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_of("abc"), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')), "a545df8e384a9579b1fd6fae5285c4eb");
}

TEST(ContentHash, PiecesEqualTheWhole) {
  std::string text(100'000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i % 251);
  ContentHash whole, pieces;
  whole.add(text.data(), text.size());
  for (size_t at = 0, step = 1; at < text.size(); at += step, step = step % 700 + 1) {
    pieces.add(text.data() + at, std::min(step, text.size() - at));
  }
  EXPECT_EQ(pieces.hex(), whole.hex());
}

// The values of the 32-byte texts are those of RFC 3720, B.4.
TEST(Crc32c, CheckValues) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

}  // namespace
}  // namespace rl_training
