#include "rl_training/data/array_source.h"

#include <algorithm>

namespace rl_training {

void ArraySource::read_into(const std::string& key, std::span<float> out,
                            const BlockUser<float>& look) {
  const auto values = read_floats(key);
  if (values.size() != out.size()) {
    throw Error(ErrorKind::internal, "read_into: not the size of the array");
  }
  std::copy(values.begin(), values.end(), out.begin());
  look(0, out);
}

void ArraySource::read_blocks(const std::string& key, const BlockUser<float>& use) {
  use(0, read_floats(key));
}

void ArraySource::read_blocks(const std::string& key, const BlockUser<double>& use) {
  use(0, read_doubles(key));
}

}  // namespace rl_training
