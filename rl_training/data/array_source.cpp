#include "rl_training/data/array_source.h"

#include <algorithm>

#include "rl_training/util/text.h"

namespace rl_training {

std::string present_names(const std::vector<std::string>& names, const std::string& wanted) {
  constexpr size_t kMostShown = 8, kLongestName = 20;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kMostShown); ++i) {
    shown.push_back(shortened(printable(names[i]), kLongestName));
  }
  return join(shown, ", ") +
         (names.size() > kMostShown ? " and " + std::to_string(names.size() - kMostShown) + " more"
                                    : "") +
         did_you_mean(wanted, names);
}

void throw_no_such_array(ArraySource& source, const std::string& key, const std::string& advice) {
  const auto names = source.names();
  throw Error(ErrorKind::data, source.place(key),
              "the file has no such array" +
                  (names.empty() ? "" : " (it has " + present_names(names, key) + ")") + advice);
}

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
