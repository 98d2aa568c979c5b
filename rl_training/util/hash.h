#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rl_training {

// Incremental SHA-256 (OpenSSL).
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(const void* data, size_t bytes);
  void add(std::string_view text) { add(text.data(), text.size()); }
  std::string hex();  // 64 lower-case digits; call this only once and add nothing afterwards

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view bytes);

// Incremental 128-bit XXH3. It hashes about as fast as memory can be read, but does not protect
// against deliberate collisions.
class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  void add(const void* data, size_t bytes);
  std::string hex() const;  // 32 lower-case digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// CRC-32C (Castagnoli), the checksum of records in TensorBoard's event files.
uint32_t crc32c(std::string_view bytes);

}  // namespace rl_training
