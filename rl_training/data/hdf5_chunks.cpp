#include "rl_training/data/hdf5_chunks.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <type_traits>

#include "rl_training/data/hdf5_checks.h"

namespace rl_training {
namespace {

constexpr int64_t kBatchBytes = int64_t{4} << 20;      // compressed bytes in memory at a time
constexpr int64_t kMaxChunkBytes = int64_t{16} << 20;  // uncompressed; each thread stores one chunk

// Whether the only filter is deflate, or the filters are shuffle and then deflate.
bool filters_fit(hid_t plist, bool& shuffled) {
  const int count = H5Pget_nfilters(plist);
  if (count < 1 || count > 2) return false;
  std::array<H5Z_filter_t, 2> filters{};
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, config = 0;
    size_t values = 0;
    filters[static_cast<size_t>(i)] = H5Pget_filter2(plist, static_cast<unsigned>(i), &flags,
                                                     &values, nullptr, 0, nullptr, &config);
  }
  shuffled = count == 2;
  return filters[static_cast<size_t>(count - 1)] == H5Z_FILTER_DEFLATE &&
         (!shuffled || filters[0] == H5Z_FILTER_SHUFFLE);
}

// Uses libdeflate, which is about twice as fast as zlib if a whole chunk is unpacked in one call.
bool inflate_exactly(const std::vector<unsigned char>& packed, std::vector<unsigned char>& out) {
  thread_local const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)>
      decompressor(libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  return decompressor &&
         libdeflate_zlib_decompress(decompressor.get(), packed.data(), packed.size(), out.data(),
                                    out.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

// The shuffle filter stores byte k of all items together.
void unshuffle(std::vector<unsigned char>& bytes, size_t item,
               std::vector<unsigned char>& scratch) {
  scratch.resize(bytes.size());
  const size_t count = bytes.size() / item;
  for (size_t k = 0; k < item; ++k) {
    const unsigned char* from = bytes.data() + k * count;
    unsigned char* to = scratch.data() + k;
    for (size_t i = 0; i < count; ++i) to[i * item] = from[i];
  }
  bytes.swap(scratch);
}

template <class From, class To>
void copy_items(const unsigned char* from, int64_t count, To* to) {
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(To));
  } else {
    for (int64_t i = 0; i < count; ++i) {
      From value;
      std::memcpy(&value, from + i * static_cast<int64_t>(sizeof value), sizeof value);
      to[i] = static_cast<To>(value);
    }
  }
}

}  // namespace

std::optional<ChunkReader> ChunkReader::open(hid_t dataset, const std::vector<int64_t>& shape,
                                             int64_t file_size) {
  ChunkReader reader;
  reader.dataset_ = dataset;
  reader.file_size_ = file_size;
  reader.rank_ = static_cast<int>(shape.size());
  if (shape.empty() || shape.size() > 2) return std::nullopt;
  reader.rows_ = shape[0];
  reader.columns_ = shape.size() == 2 ? shape[1] : 1;
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const Handle plist(H5Dget_create_plist(dataset), H5Pclose);
  if (!type.valid() || !plist.valid() || H5Pget_layout(plist) != H5D_CHUNKED) return std::nullopt;
  if (H5Tequal(type, H5T_NATIVE_DOUBLE) > 0) {
    reader.item_ = sizeof(double);
  } else if (H5Tequal(type, H5T_NATIVE_FLOAT) <= 0) {
    return std::nullopt;
  }
  if (!filters_fit(plist, reader.shuffled_)) return std::nullopt;
  std::array<hsize_t, 2> chunk = {1, 1};
  if (H5Pget_chunk(plist, reader.rank_, chunk.data()) != reader.rank_) return std::nullopt;
  reader.chunk_rows_ = static_cast<int64_t>(chunk[0]);
  reader.chunk_columns_ = static_cast<int64_t>(chunk[1]);
  const auto bytes = product({reader.chunk_rows_, reader.chunk_columns_}, reader.item_);
  if (!bytes || *bytes < 1 || *bytes > kMaxChunkBytes) return std::nullopt;
  return reader;
}

bool ChunkReader::fetch(int64_t row, int64_t column, Packed& packed) const {
  const std::array<hsize_t, 2> offset = {static_cast<hsize_t>(row), static_cast<hsize_t>(column)};
  hsize_t size = 0;
  if (H5Dget_chunk_storage_size(dataset_, offset.data(), &size) < 0 || size == 0) return false;
  // The limit is above the uncompressed size, because deflate enlarges incompressible data
  // slightly.
  const auto limit = static_cast<hsize_t>(chunk_rows_ * chunk_columns_ * item_) * 2 + 4096;
  if (size > limit || size > static_cast<hsize_t>(file_size_)) return false;
  packed.row = row;
  packed.column = column;
  packed.bytes.resize(size);
  uint32_t skipped_filters = 0;
  return H5Dread_chunk(dataset_, H5P_DEFAULT, offset.data(), &skipped_filters,
                       packed.bytes.data()) >= 0 &&
         skipped_filters == 0;
}

template <class T>
bool ChunkReader::unpack(const Packed& packed, int64_t first, int64_t rows, T* out) const {
  thread_local std::vector<unsigned char> bytes, scratch;
  bytes.resize(static_cast<size_t>(chunk_rows_ * chunk_columns_ * item_));
  if (!inflate_exactly(packed.bytes, bytes)) return false;
  if (shuffled_) unshuffle(bytes, static_cast<size_t>(item_), scratch);
  const int64_t count = std::min(chunk_columns_, columns_ - packed.column);
  const int64_t end = std::min({packed.row + chunk_rows_, first + rows, rows_});
  for (int64_t row = packed.row; row < end; ++row) {
    const unsigned char* from = bytes.data() + (row - packed.row) * chunk_columns_ * item_;
    T* to = out + (row - first) * columns_ + packed.column;
    if (item_ == sizeof(float)) {
      copy_items<float>(from, count, to);
    } else {
      copy_items<double>(from, count, to);
    }
  }
  return true;
}

template <class T>
bool ChunkReader::read(int64_t first, int64_t rows, T* out, ThreadPool& pool) const {
  std::vector<Packed> batch;
  int64_t batch_bytes = 0;
  const auto unpack_batch = [&] {
    std::atomic<bool> fine = true;
    pool.run(static_cast<int64_t>(batch.size()), [&](int64_t i) {
      if (!unpack(batch[static_cast<size_t>(i)], first, rows, out)) fine = false;
    });
    batch.clear();
    batch_bytes = 0;
    return fine.load();
  };
  for (int64_t row = first; row < first + rows; row += chunk_rows_) {
    for (int64_t column = 0; column < columns_; column += chunk_columns_) {
      if (!fetch(row, column, batch.emplace_back())) return false;
      batch_bytes += static_cast<int64_t>(batch.back().bytes.size());
      if (batch_bytes >= kBatchBytes && !unpack_batch()) return false;
    }
  }
  return unpack_batch();
}

template bool ChunkReader::read(int64_t, int64_t, float*, ThreadPool&) const;
template bool ChunkReader::read(int64_t, int64_t, double*, ThreadPool&) const;

}  // namespace rl_training
