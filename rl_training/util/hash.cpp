#include "rl_training/util/hash.h"

#include <openssl/evp.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <span>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78U : 0);
    table[i] = value;
  }
  return table;
}

constexpr auto kCrcTable = make_crc_table();

std::string to_hex(std::span<const unsigned char> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(digest); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (EVP_DigestInit_ex(context_->digest, EVP_sha256(), nullptr) != 1) {
    throw Error(ErrorKind::internal, "SHA-256 is not available in this OpenSSL");
  }
}

Sha256::~Sha256() = default;

void Sha256::add(const void* data, size_t bytes) {
  EVP_DigestUpdate(context_->digest, data, bytes);
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(context_->digest, digest.data(), nullptr);
  return to_hex(digest);
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

struct ContentHash::State {
  XXH3_state_t xxh3;
};

ContentHash::ContentHash() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh3);
}

ContentHash::~ContentHash() = default;

void ContentHash::add(const void* data, size_t bytes) {
  XXH3_128bits_update(&state_->xxh3, data, bytes);
}

std::string ContentHash::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->xxh3));
  return to_hex(canonical.digest);
}

uint32_t crc32c(std::string_view bytes) {
  uint32_t value = ~0U;
  for (const char c : bytes) {
    value = kCrcTable[(value ^ static_cast<unsigned char>(c)) & 0xff] ^ (value >> 8);
  }
  return ~value;
}

}  // namespace rl_training
