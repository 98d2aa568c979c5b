#pragma once
#include <string>

namespace rl_training {

// Files that come with the tests.
inline const std::string kFixtures = std::string(SOURCE_DIR) + "/tests/data/fixtures/";
// Genuine public datasets, which must not be copied into the repository. If they are missing, the
// tests that read them are skipped.
inline const std::string kReal = std::string(SHARED_DIR) + "/fixtures/real/";

}  // namespace rl_training
