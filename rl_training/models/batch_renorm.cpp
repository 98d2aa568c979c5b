#include "rl_training/models/batch_renorm.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "rl_training/models/backward_node.h"

namespace rl_training {
namespace {

namespace autograd = torch::autograd;

// Statistics by which a feature is normalised, and their derivatives with respect to x in a
// training pass:
//   d mean / d x_i = (by_mean + by_sigma (x_i - batch_mean)) / rows
//   d var  / d x_i = 2 by_var (x_i - batch_mean) / rows
struct FeatureNorm {
  double mean = 0, inverse_std = 1;
  double batch_mean = 0;
  double by_mean = 0, by_sigma = 0, by_var = 0;
};

// A unit of work covers all rows of one member and at most this many features.
constexpr int64_t kNormColumns = 64;
using ColumnValues = std::array<double, kNormColumns>;

struct ColumnBlock {
  int64_t member, first, count;
  int64_t rows, columns;  // of the whole matrix

  // Offsets of the first entry in [members, rows, columns] and in [members, columns].
  int64_t at() const { return member * rows * columns + first; }
  int64_t feature() const { return member * columns + first; }
  float* of(const torch::Tensor& features) const {
    return features.data_ptr<float>() + member * features.stride(0) + first;
  }
};

template <class Body>
void for_column_blocks(ThreadPool* pool, const torch::Tensor& x, const Body& body) {
  const int64_t rows = x.size(1), columns = x.size(2);
  const int64_t blocks = (columns + kNormColumns - 1) / kNormColumns;
  run_tasks(pool, x.size(0) * blocks, [&](int64_t task) {
    const int64_t first = task % blocks * kNormColumns;
    body(ColumnBlock{task / blocks, first, std::min(kNormColumns, columns - first), rows, columns});
  });
}

// Sums value(entry, column) over the rows, always in row order, so that results do not depend on
// the number of threads.
template <class Value>
ColumnValues sum_rows(const ColumnBlock& block, const Value& value) {
  ColumnValues sums{};
  for (int64_t i = 0; i < block.rows; ++i) {
    for (int64_t j = 0; j < block.count; ++j) sums[j] += value(i * block.columns + j, j);
  }
  return sums;
}

FeatureNorm running_norm(double mean, double var) {
  return {.mean = mean, .inverse_std = 1.0 / std::sqrt(var + kRenormEps)};
}

FeatureNorm batch_norm(double mean, double var, double running_mean, double running_var, bool warm,
                       const RenormOptions& options) {
  double r = 1.0, d = 0.0;
  if (warm) {
    const double running_std = std::sqrt(running_var + kRenormEps);
    r = std::clamp(std::sqrt(var + kRenormEps) / running_std, 1.0 / options.r_max, options.r_max);
    d = std::clamp((mean - running_mean) / running_std, -options.d_max, options.d_max);
  }
  const double sigma = std::sqrt(var);
  FeatureNorm norm;
  norm.mean = mean - d / r * sigma;
  norm.inverse_std = 1.0 / std::sqrt(var / (r * r) + kRenormEps);
  norm.batch_mean = mean;
  norm.by_mean = 1.0;
  // The square root has no derivative at 0, so a constant feature, such as a dead unit, passes no
  // gradient through sigma.
  norm.by_sigma = sigma > 0.0 ? -d / (r * sigma) : 0.0;
  norm.by_var = 1.0 / (r * r);
  return norm;
}

void find_norms(const ColumnBlock& block, const float* x, const BatchRenorm& work,
                const RenormOptions& options, FeatureNorm* norms) {
  float* running_mean = block.of(work.running_mean);
  float* running_var = block.of(work.running_var);
  if (work.mode == Mode::eval) {
    for (int64_t j = 0; j < block.count; ++j) {
      norms[j] = running_norm(running_mean[j], running_var[j]);
    }
    return;
  }
  const auto n = static_cast<double>(block.rows);
  auto mean = sum_rows(block, [&](int64_t at, int64_t) { return static_cast<double>(x[at]); });
  for (double& value : mean) value /= n;
  const auto squares = sum_rows(block, [&](int64_t at, int64_t j) {
    const double difference = x[at] - mean[j];
    return difference * difference;
  });
  const double rest = 1.0 - options.momentum;
  for (int64_t j = 0; j < block.count; ++j) {
    const double var = squares[j] / n;
    norms[j] = batch_norm(mean[j], var, running_mean[j], running_var[j], work.warm, options);
    running_mean[j] += static_cast<float>(rest * (mean[j] - running_mean[j]));
    running_var[j] += static_cast<float>(rest * (var - running_var[j]));
  }
}

class BatchRenormNode : public autograd::Node {
 public:
  BatchRenormNode(torch::Tensor x, torch::Tensor gain, std::vector<FeatureNorm> norms,
                  ThreadPool* pool)
      : x_(std::move(x)), gain_(std::move(gain)), norms_(std::move(norms)), pool_(pool) {}

  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    const auto y_gradient = gradients[0].contiguous();
    auto x_gradient = empty_floats(x_.sizes());
    auto gain_gradient = empty_floats({x_.size(0), x_.size(2)});
    auto shift_gradient = empty_floats({x_.size(0), x_.size(2)});
    for_column_blocks(pool_, x_, [&](const ColumnBlock& block) {
      const FeatureNorm* norms = norms_.data() + block.feature();
      const float* x = x_.data_ptr<float>() + block.at();
      const float* g = y_gradient.data_ptr<float>() + block.at();
      float* out = x_gradient.data_ptr<float>() + block.at();
      const auto sums =
          sum_rows(block, [&](int64_t at, int64_t) { return static_cast<double>(g[at]); });
      const auto products = sum_rows(block, [&](int64_t at, int64_t j) {
        return g[at] * (static_cast<double>(x[at]) - norms[j].mean);
      });
      const auto n = static_cast<double>(block.rows);
      ColumnValues direct, constant, slope;
      for (int64_t j = 0; j < block.count; ++j) {
        const double q = norms[j].inverse_std, scale = block.of(gain_)[j];
        block.of(gain_gradient)[j] = static_cast<float>(products[j] * q);
        block.of(shift_gradient)[j] = static_cast<float>(sums[j]);
        const double at_mean = -q * scale * sums[j];
        const double at_var = -0.5 * q * q * q * scale * products[j];
        direct[j] = scale * q;
        constant[j] = norms[j].by_mean * at_mean / n;
        slope[j] = (norms[j].by_sigma * at_mean + 2.0 * norms[j].by_var * at_var) / n;
        constant[j] -= slope[j] * norms[j].batch_mean;
      }
      for (int64_t i = 0; i < block.rows; ++i) {
        for (int64_t j = 0; j < block.count; ++j) {
          const int64_t at = i * block.columns + j;
          out[at] = static_cast<float>(direct[j] * g[at] + constant[j] + slope[j] * x[at]);
        }
      }
    });
    return {x_gradient, gain_gradient, shift_gradient};
  }

 private:
  torch::Tensor x_, gain_;          // detached
  std::vector<FeatureNorm> norms_;  // [members, features]
  ThreadPool* pool_;
};

}  // namespace

torch::Tensor batch_renorm(const BatchRenorm& work, const RenormOptions& options,
                           ThreadPool* pool) {
  const auto x = without_graph(work.x.contiguous());
  auto y = empty_floats(x.sizes());
  std::vector<FeatureNorm> norms(static_cast<size_t>(x.size(0) * x.size(2)));
  for_column_blocks(pool, x, [&](const ColumnBlock& block) {
    const float* in = x.data_ptr<float>() + block.at();
    float* out = y.data_ptr<float>() + block.at();
    FeatureNorm* norm = norms.data() + block.feature();
    find_norms(block, in, work, options, norm);
    std::array<float, kNormColumns> mean, factor, shift;
    for (int64_t j = 0; j < block.count; ++j) {
      mean[j] = static_cast<float>(norm[j].mean);
      factor[j] = static_cast<float>(norm[j].inverse_std * block.of(work.gain)[j]);
      shift[j] = block.of(work.shift)[j];
    }
    for (int64_t i = 0; i < block.rows; ++i) {
      for (int64_t j = 0; j < block.count; ++j) {
        const int64_t at = i * block.columns + j;
        out[at] = (in[at] - mean[j]) * factor[j] + shift[j];
      }
    }
  });
  const bool wanted =
      work.x.requires_grad() || work.gain.requires_grad() || work.shift.requires_grad();
  if (!wanted || !torch::GradMode::is_enabled()) return y;
  auto node =
      make_backward_node<BatchRenormNode>(x, without_graph(work.gain), std::move(norms), pool);
  node->set_next_edges(autograd::collect_next_edges(work.x, work.gain, work.shift));
  autograd::set_history(y, node);
  return y;
}

torch::Tensor batch_renorm_plain(const BatchRenorm& work, const RenormOptions& options) {
  auto mean = work.running_mean.clone(), var = work.running_var.clone();
  if (work.mode == Mode::train) {
    const auto batch_mean = work.x.mean(1);
    const auto batch_var = (work.x - batch_mean.unsqueeze(1)).square().mean(1);
    const torch::Tensor running_std = (var + kRenormEps).sqrt();
    auto r = torch::ones_like(var), d = torch::zeros_like(var);
    if (work.warm) {
      r = ((batch_var.detach() + kRenormEps).sqrt() / running_std)
              .clamp(1.0 / options.r_max, options.r_max);
      d = ((batch_mean.detach() - mean) / running_std).clamp(-options.d_max, options.d_max);
    }
    {
      const torch::NoGradGuard no_grad;
      work.running_mean.lerp_(batch_mean, 1.0 - options.momentum);
      work.running_var.lerp_(batch_var, 1.0 - options.momentum);
    }
    // A tiny positive variance replaces 0, where the square root has no derivative.
    mean = batch_mean - d / r * batch_var.clamp_min(1e-30).sqrt();
    var = batch_var / r.square();
  }
  const auto normalised = (work.x - mean.unsqueeze(1)) * (var + kRenormEps).rsqrt().unsqueeze(1);
  return normalised * work.gain.unsqueeze(1) + work.shift.unsqueeze(1);
}

}  // namespace rl_training
