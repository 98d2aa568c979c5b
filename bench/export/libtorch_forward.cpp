// Measures how long LibTorch takes to compute one action of a trained policy (`make bench-export`).
// Executes the exported operations as torch operators, one observation at a time. Writes the
// actions for all observations in OBS_FILE to ACTIONS_FILE, so that they can be compared with those
// of the exported C code.
//   libtorch_forward RUN OBS_FILE ACTIONS_FILE
#include <torch/types.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "rl_training/deploy/exported_policy.h"
#include "rl_training/models/compute.h"

namespace rl_training {
namespace {

using Op = PolicyGraph::Op;

struct TorchLayer {
  Op op;
  torch::Tensor a, b;
};

std::vector<TorchLayer> layers_of(const PolicyGraph& graph) {
  std::vector<TorchLayer> layers;
  for (const auto& node : graph.nodes()) {
    TorchLayer layer{node.op, {}, {}};
    if (!node.a.empty()) layer.a = torch::tensor(node.a);
    if (!node.b.empty()) layer.b = torch::tensor(node.b);
    if (node.op == Op::dense) layer.a = layer.a.view({-1, node.width});
    layers.push_back(layer);
  }
  return layers;
}

torch::Tensor forward(const std::vector<TorchLayer>& layers, torch::Tensor x) {
  for (const auto& layer : layers) {
    switch (layer.op) {
      case Op::obs:
        break;
      case Op::normalize:
        x = (x - layer.a) / layer.b;
        break;
      case Op::dense:
        x = torch::addmm(layer.b, x, layer.a);
        break;
      case Op::relu:
        x = x.relu();
        break;
      case Op::tanh:
        x = x.tanh();
        break;
      case Op::scale:
        x = x * layer.a + layer.b;
        break;
      case Op::clamp:
        x = torch::minimum(torch::maximum(x, layer.a), layer.b);
        break;
      default:
        throw Error(ErrorKind::config, "this benchmark is for deterministic policies");
    }
  }
  return x;
}

int run(const char* path, const char* obs_file, const char* actions_file) {
  TrainedPolicy policy(find_checkpoint(path, [](const std::string&) {}));
  const auto layers = layers_of(export_policy(policy, "policy").graph);
  std::ifstream file(obs_file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto obs = torch::from_blob(bytes.data(), {static_cast<int64_t>(bytes.size() / 4)})
                       .view({-1, policy.env().observation.size()});
  const SingleThreadedTensors serial;
  const c10::InferenceMode inference;
  std::ofstream out(actions_file, std::ios::binary);
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t row = 0; row < obs.size(0); ++row) {
      const auto action = forward(layers, obs.narrow(0, row, 1)).contiguous();
      if (round == 0) {
        out.write(static_cast<const char*>(action.data_ptr()),
                  static_cast<std::streamsize>(action.nbytes()));
      }
    }
    const std::chrono::duration<double, std::micro> passed =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, passed.count() / static_cast<double>(obs.size(0)));
  }
  std::printf("%.2f\n", best);
  return 0;
}

}  // namespace
}  // namespace rl_training

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return rl_training::run(argv[1], argv[2], argv[3]);
}
