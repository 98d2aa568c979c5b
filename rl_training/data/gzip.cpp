#include "rl_training/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr size_t kMaxUnpackedBytes = size_t{4} << 30;
constexpr int kGzipWindow = 15 + 16;  // 15: largest window; 16: expect a gzip header

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view bytes, const std::string& file) {
  const auto fail = [&](const char* message) {
    throw Error(ErrorKind::data, {file, 0, ""}, message);
  };
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) fail("cannot unpack: out of memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> closer(&stream, inflateEnd);
  std::string out, block(size_t{256} << 10, '\0');
  for (bool more = true; more;) {
    // The const_cast is safe because zlib does not write to its input. zlib's sizes have 32 bits,
    // so larger input is passed in pieces.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    const auto piece = std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    stream.avail_in = static_cast<uInt>(piece);
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    bytes.remove_prefix(piece - stream.avail_in);
    const size_t made = block.size() - stream.avail_out;
    if (made > kMaxUnpackedBytes - out.size()) fail("unpacks to more than the limit of 4 GiB");
    out.append(block, 0, made);
    if (result == Z_STREAM_END) {
      more = is_gzip(bytes);
      if (more) inflateReset(&stream);
    } else if (result == Z_BUF_ERROR || (result == Z_OK && bytes.empty() && made == 0)) {
      fail("the gzip data are truncated");
    } else if (result != Z_OK) {
      fail("the gzip data are damaged");
    }
  }
  return out;
}

}  // namespace rl_training
