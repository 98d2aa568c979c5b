#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "rl_training/util/scratch_directory.h"

namespace rl_training {
namespace {

TEST(ScratchDirectory, IsRemovedUnlessReleased) {
  const ScratchDirectory parent;
  for (const bool released : {false, true}) {
    std::optional<ScratchDirectory> scratch(parent.path());
    const auto path = scratch->path();
    EXPECT_TRUE(std::filesystem::is_directory(path));
    if (released) scratch->release();
    scratch.reset();
    EXPECT_EQ(std::filesystem::exists(path), released);
  }
}

}  // namespace
}  // namespace rl_training
