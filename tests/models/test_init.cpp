#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/models/mlp_spec.h"

namespace rl_training::test_init {
namespace {

struct Drawn {
  MlpSpec spec;
  MlpLayout layout{spec};
  std::vector<float> numbers;

  explicit Drawn(const MlpSpec& wanted) : spec(wanted), layout(wanted) {
    numbers.resize(layout.size * spec.members);
    Rng rng(5);
    init_parameters(spec, layout, rng, numbers);
  }
  float largest(int64_t first, int64_t count) const {
    float value = 0;
    for (int64_t i = first; i < first + count; ++i) value = std::max(value, std::abs(numbers[i]));
    return value;
  }
};

MlpSpec base() {
  MlpSpec spec;
  spec.inputs = 16;
  spec.outputs = 4;
  spec.hidden_sizes = {100, 64};
  return spec;
}

TEST(Init, DefaultIsUniformByFanIn) {
  const Drawn drawn(base());
  for (const auto& layer : drawn.layout.layers) {
    const float bound = 1.0f / std::sqrt(static_cast<float>(layer.inputs));
    const float weight = drawn.largest(layer.weight, layer.inputs * layer.outputs);
    EXPECT_LE(weight, bound);
    EXPECT_GT(weight, 0.9f * bound);  // the bound depends only on the number of inputs
    EXPECT_LE(drawn.largest(layer.bias, layer.outputs), bound);
  }
}

TEST(Init, RebracStyle) {
  auto spec = base();
  spec.hidden_init = {.bias = LayerInit::Bias::constant, .bias_scale = 0.1};
  spec.output_init = {LayerInit::Weight::uniform, 3e-3, LayerInit::Bias::uniform, 3e-3};
  const Drawn drawn(spec);
  const auto& hidden = drawn.layout.layers[0];
  for (int64_t j = 0; j < hidden.outputs; ++j) EXPECT_EQ(drawn.numbers[hidden.bias + j], 0.1f);
  const auto& head = drawn.layout.layers[2];
  const float weight = drawn.largest(head.weight, head.inputs * head.outputs);
  EXPECT_LE(weight, 3e-3f);
  EXPECT_GT(weight, 2.5e-3f);
}

TEST(Init, XavierBoundAndZeroBias) {
  auto spec = base();
  spec.hidden_init = {LayerInit::Weight::xavier_uniform, 1.0, LayerInit::Bias::constant, 0.0};
  const Drawn drawn(spec);
  const auto& layer = drawn.layout.layers[0];
  const float bound = std::sqrt(6.0f / (16 + 100));
  EXPECT_LE(drawn.largest(layer.weight, 1600), bound);
  EXPECT_GT(drawn.largest(layer.weight, 1600), 0.95f * bound);
  EXPECT_EQ(drawn.largest(layer.bias, 100), 0.0f);
}

TEST(Init, OrthogonalRowsOrColumns) {
  auto spec = base();
  spec.hidden_init = {LayerInit::Weight::orthogonal, std::sqrt(2.0), LayerInit::Bias::constant, 0};
  const Drawn drawn(spec);
  for (const size_t index : {size_t{0}, size_t{1}}) {
    const auto& layer = drawn.layout.layers[index];
    const bool rows = layer.inputs <= layer.outputs;
    const int64_t count = rows ? layer.inputs : layer.outputs;
    const int64_t length = rows ? layer.outputs : layer.inputs;
    const auto at = [&](int64_t i, int64_t j) {
      return drawn.numbers[layer.weight + (rows ? i * layer.outputs + j : j * layer.outputs + i)];
    };
    for (int64_t a = 0; a < count; a += 7) {
      for (int64_t b = 0; b <= a; b += 7) {
        double dot = 0;
        for (int64_t j = 0; j < length; ++j) dot += at(a, j) * at(b, j);
        EXPECT_NEAR(dot, a == b ? 2.0 : 0.0, 1e-5);
      }
    }
  }
}

TEST(Init, MembersDiffer) {
  auto spec = base();
  spec.members = 2;
  const Drawn drawn(spec);
  EXPECT_NE(drawn.numbers[0], drawn.numbers[drawn.layout.size]);
}

}  // namespace
}  // namespace rl_training::test_init
