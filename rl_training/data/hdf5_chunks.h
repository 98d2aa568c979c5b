#pragma once
#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "rl_training/util/thread_pool.h"

// Only hdf5_*.cpp files include this header, so that no other file depends on libhdf5.
namespace rl_training {

// Unpacks the chunks of an array on several threads, whereas libhdf5 uses one thread. Supports only
// the usual case: native floats or doubles, rank 1 or 2, deflate with or without shuffle.
class ChunkReader {
 public:
  // Returns nothing if this class does not support the array.
  static std::optional<ChunkReader> open(hid_t dataset, const std::vector<int64_t>& shape,
                                         int64_t file_size);

  // Rounds `most` down to a multiple of the rows per chunk. Returns at least the rows of one chunk.
  int64_t whole_chunk_rows(int64_t most) const {
    return most < chunk_rows_ ? chunk_rows_ : most / chunk_rows_ * chunk_rows_;
  }

  // Reads the rows [first, first + rows), which must begin and end at chunk boundaries or at the
  // end of the array. If a chunk is missing, damaged or stored without some of the filters, returns
  // false and leaves undefined values in `out`.
  template <class T>
  bool read(int64_t first, int64_t rows, T* out, ThreadPool& pool) const;

 private:
  struct Packed {
    int64_t row = 0, column = 0;
    std::vector<unsigned char> bytes;
  };
  ChunkReader() = default;
  bool fetch(int64_t row, int64_t column, Packed& packed) const;
  template <class T>
  bool unpack(const Packed& packed, int64_t first, int64_t rows, T* out) const;

  hid_t dataset_ = -1;  // not owned
  int rank_ = 1;
  int64_t rows_ = 0, columns_ = 1, chunk_rows_ = 1, chunk_columns_ = 1;
  int64_t item_ = 4, file_size_ = 0;
  bool shuffled_ = false;
};

}  // namespace rl_training
