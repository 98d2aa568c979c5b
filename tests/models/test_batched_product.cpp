#include <gtest/gtest.h>

#include "rl_training/models/backward.h"
#include "rl_training/models/batched_product.h"
#include "rl_training/util/rng.h"

namespace rl_training::test_batched_product {
namespace {

torch::Tensor random_leaf(uint64_t seed, torch::IntArrayRef shape) {
  auto values = torch::empty(shape);
  Rng(seed).fill_normal({values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values.set_requires_grad(true);
}

void expect_near(const torch::Tensor& got, const torch::Tensor& expected) {
  ASSERT_EQ(got.sizes(), expected.sizes());
  EXPECT_LT((got - expected).abs().max().item<float>(), 1e-4f);
}

torch::Tensor plain(const BatchedProduct& work) {
  auto y = torch::bmm(work.a, work.transpose_b ? work.b.transpose(1, 2) : work.b);
  if (work.bias.defined()) y = y + work.bias.unsqueeze(1);
  return work.relu ? y.relu() : y;
}

// Compares the result and all gradients with those of torch's operators.
void compare_with_torch(const BatchedProduct& work, std::vector<torch::Tensor> leaves,
                        ThreadPool* pool) {
  const auto gradients = [&](const torch::Tensor& y) {
    const auto weights = random_leaf(9, y.sizes()).detach();
    run_backward((y * weights).sum());
    std::vector<torch::Tensor> found;
    for (auto& leaf : leaves) {
      found.push_back(leaf.grad().clone());
      leaf.mutable_grad() = torch::Tensor();
    }
    return found;
  };
  const auto y = batched_product(work, pool), expected = plain(work);
  expect_near(y, expected);
  const auto got = gradients(y), wanted = gradients(expected);
  for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], wanted[i]);
}

// The products have 150 rows, more than the 128 rows of one unit of work.
TEST(BatchedProduct, EqualsTorchWithBiasAndRelu) {
  const auto a = random_leaf(1, {2, 150, 5}), b = random_leaf(2, {2, 5, 7}),
             bias = random_leaf(3, {2, 7});
  compare_with_torch({.a = a, .b = b, .bias = bias}, {a, b, bias}, nullptr);
  compare_with_torch({.a = a, .b = b, .bias = bias, .relu = true}, {a, b, bias}, nullptr);
  compare_with_torch({.a = a, .b = b}, {a, b}, nullptr);
}

TEST(BatchedProduct, EqualsTorchWithATransposedFactor) {
  const auto a = random_leaf(1, {3, 6, 5}), b = random_leaf(2, {3, 4, 5});
  compare_with_torch({.a = a, .b = b, .transpose_b = true}, {a, b}, nullptr);
}

// The factors are not contiguous: `b` is part of a flat parameter tensor, and `a` is transposed.
TEST(BatchedProduct, TakesFactorsWithGaps) {
  const auto flat = random_leaf(1, {2, 40}), a = random_leaf(2, {6, 2, 5});
  const auto parts = flat.split_with_sizes({2, 35, 3}, 1);
  const auto b = parts[1].view({2, 5, 7});
  compare_with_torch({.a = a.transpose(0, 1), .b = b, .bias = b.select(1, 0)}, {flat, a}, nullptr);
}

TEST(BatchedProduct, TheNumberOfThreadsChangesNoBit) {
  const auto a = random_leaf(1, {3, 300, 70}), b = random_leaf(2, {3, 70, 90}),
             bias = random_leaf(3, {3, 90});
  std::vector<torch::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    const auto y = batched_product({.a = a, .b = b, .bias = bias, .relu = true}, &pool);
    run_backward(y.square().sum());
    std::vector<torch::Tensor> now = {y.detach(), a.grad(), b.grad(), bias.grad()};
    for (const auto& leaf : {a, b, bias}) leaf.mutable_grad() = torch::Tensor();
    if (first.empty()) first = now;
    for (size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(torch::equal(now[i], first[i])) << i;
  }
}

TEST(BatchedProduct, RefusesMatricesThatDoNotFit) {
  const auto a = torch::zeros({2, 3, 4}), b = torch::zeros({2, 5, 6});
  EXPECT_THROW(batched_product({.a = a, .b = b}, nullptr), c10::Error);
}

}  // namespace
}  // namespace rl_training::test_batched_product
