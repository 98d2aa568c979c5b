#pragma once
#include <string>

namespace rl_training {

// Files that come with the tests, and the larger collection that may exist next to the repository.
inline const std::string kOwn = std::string(SOURCE_DIR) + "/tests/data/fixtures/";
inline const std::string kShared = std::string(SHARED_DIR) + "/fixtures/";

}  // namespace rl_training
