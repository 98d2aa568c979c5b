#include "rl_training/data/array_source.h"

#include <algorithm>

namespace rl_training {

void ArraySource::read_into(const std::string& key, std::span<float> out) {
  read_blocks(key, [&, done = size_t{0}](int64_t, std::span<const float> values) mutable {
    if (values.size() > out.size() - done) throw Error(ErrorKind::internal, "read_into: too small");
    std::copy(values.begin(), values.end(), out.begin() + static_cast<int64_t>(done));
    done += values.size();
  });
}

void ArraySource::read_blocks(const std::string& key, const BlockUser<float>& use) {
  use(0, read_floats(key));
}

void ArraySource::read_blocks(const std::string& key, const BlockUser<double>& use) {
  use(0, read_doubles(key));
}

}  // namespace rl_training
