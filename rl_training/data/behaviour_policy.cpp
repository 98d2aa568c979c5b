#include "rl_training/data/behaviour_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/npy_header.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr const char* kGroup = "metadata/policy/";
// The implementation that recorded the D4RL datasets clips log_std to these bounds.
constexpr float kMinLogStd = -20, kMaxLogStd = 2;
constexpr int64_t kMaxWidth = 65536;  // units per layer; recorded policies are far smaller

// Returns the text of the entry `name`, which must be one of `choices`. Returns the first choice if
// the file has no such entry.
std::string read_choice(Hdf5File& file, const std::string& name,
                        const std::vector<std::string>& choices) {
  const std::string key = kGroup + name;
  if (!file.has(key)) return choices.front();
  std::string text = file.read_text(key);
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  throw Error(ErrorKind::data, file.place(key),
              "a policy of another kind (expected " + join(choices, " or ") + ", got `" +
                  shortened(printable(text), 40) + "`)");
}

// Sends the weight and the bias of a layer to `output` and returns {outputs, inputs}. If `inputs`
// is 0, the layer may have any number of inputs.
Json send_layer(Hdf5File& file, const std::string& name, int64_t inputs, SandboxOutput& output) {
  const std::string weight = kGroup + name + "/weight", bias = kGroup + name + "/bias";
  for (const auto& key : {weight, bias}) {
    if (!file.has(key)) {
      throw Error(ErrorKind::data, file.place(key),
                  "the file contains no behaviour policy (expected fc0, fc1, last_fc and "
                  "last_fc_log_std in metadata/policy)");
    }
  }
  const auto shape = file.shape(weight);
  const bool fits = shape.size() == 2 && shape[0] > 0 && shape[0] <= kMaxWidth && shape[1] > 0 &&
                    shape[1] <= kMaxWidth && (inputs == 0 || shape[1] == inputs);
  if (!fits) {
    throw Error(ErrorKind::data, file.place(weight),
                "wrong shape (expected (outputs, " +
                    (inputs == 0 ? "inputs" : std::to_string(inputs)) + "), got " +
                    shape_text(shape) + ")");
  }
  if (file.shape(bias) != std::vector<int64_t>{shape[0]}) {
    throw Error(ErrorKind::data, file.place(bias),
                "wrong shape (expected " + shape_text(std::span(shape).first(1)) + ", got " +
                    shape_text(file.shape(bias)) + ")");
  }
  for (const auto& key : {weight, bias}) {
    const auto values = file.read_floats(key);
    const bool finite =
        std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    if (!finite) throw Error(ErrorKind::data, file.place(key), "not all values are finite");
    output.array(values.data(), static_cast<int64_t>(values.size() * sizeof(float)));
  }
  return {shape[0], shape[1]};
}

// Sends all layers as arrays, then their shapes and the activation as JSON. The last two layers are
// mean and log_std.
void send_policy(const std::string& path, SandboxOutput& output) {
  Hdf5File file(path);
  forbid_opening_files();
  const std::string activation = read_choice(file, "nonlinearity", {"relu", "tanh"});
  read_choice(file, "output_distribution", {"tanh_gaussian"});
  Json layers = Json::array();
  int64_t width = 0;
  const auto send = [&](const std::string& name) {
    layers.push_back(send_layer(file, name, width, output));
    return layers.back().at(0).get<int64_t>();
  };
  for (int i = 0; i == 0 || file.has(kGroup + ("fc" + std::to_string(i))); ++i) {
    width = send("fc" + std::to_string(i));
  }
  const int64_t actions = send("last_fc");
  if (send("last_fc_log_std") != actions) {
    throw Error(
        ErrorKind::data, file.place(std::string(kGroup) + "last_fc_log_std/weight"),
        "wrong shape (expected the number of outputs of last_fc, " + std::to_string(actions) + ")");
  }
  const Json facts = {{"layers", layers}, {"relu", activation == "relu"}};
  output.text(facts.dump());
}

std::vector<float> floats_of(const Column<unsigned char>& bytes, int64_t count,
                             const std::string& path) {
  if (bytes.size() != count * static_cast<int64_t>(sizeof(float))) {
    throw Error(ErrorKind::data, {path, 0, ""},
                "damaged or hostile file (array sizes do not match)");
  }
  std::vector<float> values(static_cast<size_t>(count));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace

BehaviourPolicy BehaviourPolicy::read(const std::string& path) {
  const auto sent = run_in_sandbox(path, SandboxLimits::for_file(path),
                                   [&](SandboxOutput& output) { send_policy(path, output); });
  const Json facts = facts_of_reader(sent.text, path);
  BehaviourPolicy policy;
  policy.relu_ = facts.at("relu").get<bool>();
  // A compromised reader may report anything, so the sizes are checked again here.
  const auto check = [&](bool holds, const char* what) {
    if (holds) return;
    throw Error(ErrorKind::data, {path, 0, ""}, fmt::format("damaged or hostile file ({})", what));
  };
  const Json& layers = facts.at("layers");
  check(layers.is_array() && layers.size() >= 3, "fewer than three layers");
  const size_t hidden = layers.size() - 2;
  size_t next = 0;
  for (const auto& shape : layers) {
    Layer layer;
    layer.out = shape.at(0).get<int64_t>();
    layer.in = shape.at(1).get<int64_t>();
    for (const int64_t width : {layer.out, layer.in}) {
      check(width > 0 && width <= kMaxWidth, "a layer's size is out of range");
    }
    const auto rows = floats_of(sent.arrays.at(next), layer.out * layer.in, path);
    layer.bias = floats_of(sent.arrays.at(next + 1), layer.out, path);
    next += 2;
    const bool first = policy.hidden_.empty();
    check(first || layer.in == policy.hidden_[std::min(hidden, policy.hidden_.size()) - 1].out,
          "layer sizes do not match");
    layer.weight.resize(rows.size());
    for (int64_t o = 0; o < layer.out; ++o) {
      for (int64_t i = 0; i < layer.in; ++i) {
        layer.weight[static_cast<size_t>(i * layer.out + o)] =
            rows[static_cast<size_t>(o * layer.in + i)];
      }
    }
    policy.hidden_.push_back(std::move(layer));
  }
  const auto take_last = [&] {
    Layer last = std::move(policy.hidden_.back());
    policy.hidden_.pop_back();
    return last;
  };
  policy.log_std_ = take_last();
  policy.mean_ = take_last();
  return policy;
}

void BehaviourPolicy::Layer::apply(std::span<const float> input, std::span<float> output) const {
  std::copy(bias.begin(), bias.end(), output.begin());
  const float* row = weight.data();
  for (const float value : input) {
    for (size_t o = 0; o < output.size(); ++o) output[o] += value * row[o];
    row += out;
  }
}

void BehaviourPolicy::distribution(std::span<const double> obs, std::span<float> mean,
                                   std::span<float> std) {
  values_.assign(obs.begin(), obs.end());
  for (const Layer& layer : hidden_) {
    next_.resize(layer.bias.size());
    layer.apply(values_, next_);
    for (float& value : next_) value = relu_ ? std::max(value, 0.0f) : std::tanh(value);
    values_.swap(next_);
  }
  mean_.apply(values_, mean);
  log_std_.apply(values_, std);
  for (float& value : std) value = std::exp(std::clamp(value, kMinLogStd, kMaxLogStd));
}

void BehaviourPolicy::act(std::span<const double> obs, Rng& rng, std::span<float> action) {
  std_.resize(action.size());
  distribution(obs, action, std_);
  for (size_t i = 0; i < action.size(); ++i) {
    action[i] = std::tanh(action[i] + std_[i] * static_cast<float>(rng.normal()));
  }
}

}  // namespace rl_training
