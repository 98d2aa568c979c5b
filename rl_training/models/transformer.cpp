#include "rl_training/models/transformer.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "rl_training/models/batched_product.h"

namespace rl_training {
namespace {

constexpr double kWeightStd = 0.02;
constexpr double kNormEps = 1e-5;

// Sets values to zero with probability `rate`, and scales the others up to preserve the mean. One
// 64-bit random number is used for four values.
torch::Tensor drop_out(const torch::Tensor& x, double rate, Rng* rng) {
  constexpr double kSteps = 65536.0;
  const auto dropped = static_cast<uint64_t>(std::llround(rate * kSteps));
  if (rng == nullptr || dropped == 0) return x;
  const auto kept = static_cast<float>(kSteps / (kSteps - static_cast<double>(dropped)));
  auto mask = empty_floats(x.sizes());
  auto* values = mask.data_ptr<float>();
  uint64_t bits = 0;
  for (int64_t i = 0; i < mask.numel(); ++i, bits >>= 16) {
    if (i % 4 == 0) bits = rng->next();
    values[i] = (bits & 0xffff) < dropped ? 0.0f : kept;
  }
  return x * mask;
}

// -infinity above the diagonal, so that no token attends to a later token.
torch::Tensor causal_mask(int64_t tokens) {
  return torch::full({tokens, tokens}, -std::numeric_limits<float>::infinity()).triu(1);
}

}  // namespace

int64_t Transformer::Part::size() const {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return count;
}

// Returns the parts of the parameters in order.
class Transformer::Reader {
 public:
  Reader(const std::vector<Part>& parts, const torch::Tensor& parameters) : parts_(parts) {
    std::vector<int64_t> sizes;
    sizes.reserve(parts.size());
    for (const Part& part : parts) sizes.push_back(part.size());
    // Uses one autograd node for all parts, so that their gradients are concatenated only once.
    values_ = parameters.split_with_sizes(sizes);
  }
  torch::Tensor next() {
    const size_t i = at_++;
    return values_[i].view(parts_[i].shape);
  }

 private:
  const std::vector<Part>& parts_;
  std::vector<torch::Tensor> values_;
  size_t at_ = 0;
};

std::vector<Transformer::Part> Transformer::parts_of(const TransformerSpec& spec) {
  std::vector<Part> parts;
  const int64_t width = spec.embed_dim;
  const auto add_linear = [&](const std::string& name, int64_t inputs, int64_t outputs) {
    parts.push_back({name + ".weight", {inputs, outputs}, Start::normal});
    parts.push_back({name + ".bias", {outputs}, Start::zero});
  };
  const auto add_norm = [&](const std::string& name) {
    parts.push_back({name + ".gain", {width}, Start::one});
    parts.push_back({name + ".shift", {width}, Start::zero});
  };
  parts.push_back({"timesteps", {spec.max_steps, width}, Start::normal});
  add_linear("return", 1, width);
  add_linear("obs", spec.obs_dim, width);
  add_linear("action", spec.action_dim, width);
  add_norm("tokens_norm");
  for (int64_t i = 0; i < spec.layers; ++i) {
    const auto block = "block" + std::to_string(i);
    add_norm(block + ".attention_norm");
    add_linear(block + ".query_key_value", width, 3 * width);
    add_linear(block + ".attention_out", width, width);
    add_norm(block + ".mlp_norm");
    add_linear(block + ".mlp_in", width, 4 * width);
    add_linear(block + ".mlp_out", 4 * width, width);
  }
  add_norm("last_norm");
  add_linear("head", width, spec.action_dim);
  return parts;
}

torch::Tensor Transformer::initial_parameters(const TransformerSpec& spec, Rng& rng) {
  const auto parts = parts_of(spec);
  int64_t size = 0;
  for (const Part& part : parts) size += part.size();
  auto parameters = empty_floats({size});
  auto* at = parameters.data_ptr<float>();
  for (const Part& part : parts) {
    for (int64_t i = 0; i < part.size(); ++i, ++at) {
      *at = part.start == Start::normal ? static_cast<float>(kWeightStd * rng.normal())
            : part.start == Start::one  ? 1.0f
                                        : 0.0f;
    }
  }
  return parameters;
}

Transformer::Transformer(const TransformerSpec& spec, Rng& rng, const Compute& compute)
    : Network(initial_parameters(spec, rng), compute), spec_(spec), parts_(parts_of(spec)) {
  TORCH_CHECK(spec.embed_dim % spec.heads == 0, "heads must divide the width of the tokens");
}

// Applies a linear layer to the last dimension. All other dimensions are rows.
torch::Tensor Transformer::linear(const torch::Tensor& x, Reader& parts) const {
  const auto weight = parts.next(), bias = parts.next();
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(1);
  return batched_product({.a = x.reshape({1, -1, weight.size(0)}),
                          .b = weight.unsqueeze(0),
                          .bias = bias.unsqueeze(0)},
                         pool_)
      .view(shape);
}

torch::Tensor Transformer::norm(const torch::Tensor& x, Reader& parts) const {
  const auto gain = parts.next(), shift = parts.next();
  return at::layer_norm(x, {spec_.embed_dim}, gain, shift, kNormEps);
}

// [rows, 3 * steps, embed_dim]
torch::Tensor Transformer::embed(const Trajectories& input, Reader& parts) const {
  const auto when = at::embedding(parts.next(), input.timesteps);
  const auto returns = linear(input.returns.unsqueeze(-1), parts) + when;
  const auto obs = linear(input.obs, parts) + when;
  const auto actions = linear(input.actions, parts) + when;
  return torch::stack({returns, obs, actions}, 2)
      .view({input.obs.size(0), 3 * input.obs.size(1), spec_.embed_dim});
}

torch::Tensor Transformer::attend(const torch::Tensor& x, Reader& parts, Rng* dropout) const {
  const int64_t rows = x.size(0), tokens = x.size(1);
  const int64_t heads = spec_.heads, head_width = spec_.embed_dim / heads;
  const auto all =
      linear(x, parts).view({rows, tokens, 3, heads, head_width}).permute({2, 0, 3, 1, 4});
  const auto of_heads = [&](int64_t which) {
    return all[which].reshape({rows * heads, tokens, head_width});
  };
  const auto query = of_heads(0) / std::sqrt(static_cast<double>(head_width));
  const auto scores = batched_product({.a = query, .b = of_heads(1), .transpose_b = true}, pool_);
  const auto weights = at::softmax(scores + causal_mask(tokens), -1);
  const auto mixed =
      batched_product({.a = drop_out(weights, spec_.dropout, dropout), .b = of_heads(2)}, pool_)
          .view({rows, heads, tokens, head_width})
          .transpose(1, 2)
          .reshape({rows, tokens, spec_.embed_dim});
  return linear(mixed, parts);
}

torch::Tensor Transformer::forward(const Trajectories& input, Rng* dropout) const {
  Reader parts(parts_, parameters_);
  auto x = embed(input, parts);
  x = drop_out(norm(x, parts), spec_.dropout, dropout);
  for (int64_t i = 0; i < spec_.layers; ++i) {
    const auto attended = attend(norm(x, parts), parts, dropout);
    x = x + drop_out(attended, spec_.dropout, dropout);
    const auto inner = at::gelu(linear(norm(x, parts), parts));
    x = x + drop_out(linear(inner, parts), spec_.dropout, dropout);
  }
  x = norm(x, parts);
  // Selects the tokens of the observations.
  const auto after_obs =
      x.view({input.obs.size(0), input.obs.size(1), 3, spec_.embed_dim}).select(2, 1);
  return torch::tanh(linear(after_obs, parts));
}

void Transformer::visit_state(StateVisitor& state) {
  const torch::NoGradGuard no_grad;
  int64_t at = 0;
  for (const Part& part : parts_) {
    auto values = parameters_.narrow(0, at, part.size()).view(part.shape);
    visit_tensor(state, part.name, values);
    at += part.size();
  }
}

}  // namespace rl_training
