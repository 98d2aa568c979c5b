#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "rl_training/models/tensor_memory.h"

namespace rl_training::test_tensor_memory {
namespace {

// Creates `count` tensors, each after the previous one was freed. Returns the number of distinct
// addresses of their data.
size_t places(size_t count, torch::IntArrayRef shape) {
  std::set<const void*> seen;
  for (size_t i = 0; i < count; ++i) seen.insert(reused_floats(shape).data_ptr());
  return seen.size();
}

TEST(ReusedFloats, ComeBackInTheirShape) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "nothing is kept under AddressSanitizer";
#endif
  EXPECT_LE(places(1000, {7, 11}), 16);
  const auto tensor = reused_floats({7, 11});
  EXPECT_EQ(tensor.sizes(), torch::IntArrayRef({7, 11}));
  EXPECT_EQ(tensor.scalar_type(), torch::kFloat);
  EXPECT_TRUE(tensor.is_contiguous());
}

TEST(ReusedFloats, AreNobodyElses) {
  std::vector<torch::Tensor> held, views;
  for (int i = 0; i < 100; ++i) {
    held.push_back(reused_floats({3}).fill_(i));
    // tensor_data() returns another tensor that shares the memory.
    views.push_back(reused_floats({3}).fill_(1000 + i).tensor_data());
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE((held[i] == i).all().item<bool>()) << i;
    EXPECT_TRUE((views[i] == 1000 + i).all().item<bool>()) << i;
  }
}

TEST(ReusedFloats, ComeWithoutGraphAndInTheShapeAskedFor) {
  for (int i = 0; i < 100; ++i) {
    auto leaf = reused_floats({2, 5});
    ASSERT_FALSE(leaf.requires_grad()) << i;
    leaf.set_requires_grad(true);
    auto turned = reused_floats({2, 5});
    ASSERT_TRUE(turned.is_contiguous() && turned.size(0) == 2) << i;
    turned.t_();
  }
}

TEST(ReusedFloats, SurviveMoreShapesThanAreKept) {
  for (int64_t rows = 1; rows < 200; ++rows) {
    EXPECT_EQ(reused_floats({rows, 2}).sizes(), torch::IntArrayRef({rows, 2}));
  }
  EXPECT_EQ(reused_floats({100, 100}).numel(), 10000);  // larger than any cached tensor
  EXPECT_EQ(reused_floats({0, 4}).numel(), 0);
}

TEST(ReusedFloats, MayEndOnAnotherThread) {
  for (int i = 0; i < 50; ++i) {
    auto tensor = reused_floats({4}).fill_(i);
    std::thread([moved = std::move(tensor), i] {
      EXPECT_EQ(moved[3].item<float>(), static_cast<float>(i));
      EXPECT_EQ(reused_floats({4}).numel(), 4);
    }).join();
  }
}

}  // namespace
}  // namespace rl_training::test_tensor_memory
