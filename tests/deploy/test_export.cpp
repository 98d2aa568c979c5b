// Compares the exported policies of every algorithm with `predict`.
#include <gtest/gtest.h>

#include <map>

#include "onnx_model.pb.h"
#include "rl_training/deploy/c_compiler.h"
#include "rl_training/deploy/c_header.h"
#include "rl_training/deploy/onnx_file.h"
#include "rl_training/deploy/verification.h"
#include "rl_training/models/mlp.h"
#include "tests/contract/algorithm_names.h"
#include "tests/support/tiny_config.h"

namespace rl_training {
namespace {

using Rows = std::vector<std::vector<double>>;

// Perturbs every float array of a policy. New networks have zero biases and normalisation
// statistics of 0 and 1, which would hide errors of the export.
class Jolt final : public StateVisitor {
 public:
  void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                void* data) override {
    if (dtype != DType::f32) return;
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    const bool positive = name.ends_with("var") || name.ends_with("scale");
    for (int64_t i = 0; i < count; ++i) {
      float& value = static_cast<float*>(data)[i];
      value = positive ? static_cast<float>(rng_.uniform(0.5, 2.0))
                       : value + static_cast<float>(rng_.uniform(-0.2, 0.2));
    }
  }
  void on_text(const std::string&, std::string&) override {}

 private:
  Rng rng_{3};
};

std::unique_ptr<TrainedPolicy> made_policy(const std::string& algo,
                                           const std::vector<std::string>& more = {}) {
  auto policy = std::make_unique<TrainedPolicy>(tiny_config(algo, "/nowhere", more));
  // Uses a normaliser that differs from the identity.
  if (policy->config().has_dataset()) {
    policy->normalizer() = ObsNormalizer::fit(
        load_transition_dataset(policy->config().dataset, policy->config().env_id));
  }
  Jolt jolt;
  policy->visit_state(jolt);
  return policy;
}

Rows random_rows(const TrainedPolicy& policy, int64_t count) {
  // The range is wide enough for an untrained policy to select several different actions.
  const double range = policy.env().action.is_discrete() ? 40 : 2;
  Rng rng(5);
  Rows rows;
  for (int64_t i = 0; i < count; ++i) {
    auto& row = rows.emplace_back();
    for (int64_t j = 0; j < policy.env().observation.size(); ++j) {
      row.push_back(static_cast<float>(rng.uniform(-range, range)));
    }
  }
  return rows;
}

void expect_exact(ExportFormat format, TrainedPolicy& policy) {
  const auto obs = random_rows(policy, 200);
  auto exported = export_policy(policy, "robot");
  std::string text;
  const auto verified = write_and_verify(format, policy, obs, exported, text);
  EXPECT_LE(verified.max_abs_error, kLargestExportError);
  EXPECT_EQ(verified.observations, 200);
  EXPECT_LE(verified.undecided, 10);
  EXPECT_EQ(exported.examples.size(), 8u);
  // Checks that the actions depend on the observation.
  double spread = 0;
  const auto actions = policy.predict(obs);
  for (const auto& row : actions) spread = std::max(spread, std::abs(row[0] - actions[0][0]));
  EXPECT_GT(spread, 1e-2);
}

class Export : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, Export, testing::ValuesIn(algorithm_names()), name_of_test);

TEST_P(Export, EqualsPredict) {
  const auto policy = made_policy(GetParam());
  const std::map<std::string, std::string> refused = {
      {"decision_transformer", "previous steps and rewards"},
      {"td7", "divide by a mean of absolute values"},
      {"drq_v2", "observations are images"}};
  if (const auto found = refused.find(GetParam()); found != refused.end()) {
    try {
      export_policy(*policy, "robot");
      FAIL() << "exported";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      EXPECT_NE(std::string(error.what()).find(found->second), std::string::npos);
    }
    return;
  }
  expect_exact(ExportFormat::c, *policy);
  expect_exact(ExportFormat::onnx, *policy);
}

TEST(ExportVariants, LayerNormOnEitherSideOfTheActivation) {
  for (const auto place : {LayerNorm::before_activation, LayerNorm::after_activation}) {
    MlpSpec spec;
    spec.inputs = 3;
    spec.outputs = 2;
    spec.hidden_sizes = {7, 5};
    spec.layer_norm = place;
    spec.layer_norm_eps = 0.1;
    Rng rng(1);
    Mlp network(spec, rng, {});
    Jolt jolt;
    network.visit_state(jolt);
    ExportedPolicy policy;
    policy.name = "robot";
    policy.action_unit = {1, 1};
    network.describe(policy.graph, policy.graph.obs(3));
    const Rows obs = {{0.3, -1.2, 2.0}, {1.5, 0.25, -0.5}};
    const torch::NoGradGuard no_grad;
    const auto expected =
        network.forward(torch::tensor({{0.3f, -1.2f, 2.0f}, {1.5f, 0.25f, -0.5f}}))[0];
    const auto compiled = run_c_header(policy, write_c_header(policy), obs).value();
    const auto onnx = run_onnx(write_onnx(policy), obs);
    for (size_t row = 0; row < 2; ++row) {
      const auto interpreted = interpret_policy(policy.graph, obs[row]).action;
      for (size_t j = 0; j < 2; ++j) {
        const double wanted = expected[row][j].item<double>();
        EXPECT_NEAR(interpreted[j], wanted, 1e-6);
        EXPECT_NEAR(compiled[row][j], wanted, 1e-6);
        EXPECT_NEAR(onnx[row][j], wanted, 1e-6);
      }
    }
  }
}

TEST(ExportVariants, OneCandidateAction) {
  for (const char* algo : {"bcq", "bear"}) {
    const auto policy = made_policy(algo, {"eval_action_samples=1"});
    expect_exact(ExportFormat::c, *policy);
    expect_exact(ExportFormat::onnx, *policy);
  }
}

TEST(ExportVariants, CriticWeightedPolicyIsRefused) {
  const auto policy = made_policy("crr", {"critic_weighted_policy=true"});
  try {
    export_policy(*policy, "robot");
    FAIL() << "exported";
  } catch (const Error& error) {
    EXPECT_EQ(error.place().key, "algo_kwargs.critic_weighted_policy");
  }
}

// A header with wrong weights fails its self-test and also the comparison with the policy.
TEST(Verification, FindsAChangedWeight) {
  const auto policy = made_policy("td3_bc");
  const auto obs = random_rows(*policy, 100);
  auto exported = export_policy(*policy, "robot");
  std::string text;
  write_and_verify(ExportFormat::c, *policy, obs, exported, text);
  auto other = text;
  const auto bias = other.find("_bias");
  const auto value = other.find("\n  ", bias) + 3;
  other.replace(value, other.find(',', value) - value, "0.777f");
  ASSERT_NE(other, text);
  EXPECT_TRUE(run_c_header(exported, text, obs).has_value());
  EXPECT_THROW(run_c_header(exported, other, obs), Error);

  // An ONNX model has no test vectors, so only the comparison of actions detects the change.
  const auto model = write_onnx(exported);
  onnx_model::Model changed;
  ASSERT_TRUE(changed.ParseFromString(model));
  for (auto& tensor : *changed.mutable_graph()->mutable_initializer()) {
    if (tensor.name().starts_with("bias")) {
      tensor.set_raw_data(std::string(tensor.raw_data().size(), '\0'));
    }
  }
  const auto good = run_onnx(model, obs), bad = run_onnx(changed.SerializeAsString(), obs);
  const auto expected = policy->predict(obs);
  double good_error = 0, bad_error = 0;
  for (size_t i = 0; i < obs.size(); ++i) {
    good_error = std::max(good_error, action_error(exported, good[i], expected[i]));
    bad_error = std::max(bad_error, action_error(exported, bad[i], expected[i]));
  }
  EXPECT_LE(good_error, 1e-5);
  EXPECT_GT(bad_error, 1e-2);
}

TEST(Verification, ErrorsAreMeasuredInHalfTheRange) {
  ExportedPolicy policy;
  policy.graph.obs(1);
  policy.action_unit = {1.0, 50.0};
  EXPECT_DOUBLE_EQ(action_error(policy, {1.0, 10.0}, {1.25, 10.0}), 0.25);
  EXPECT_DOUBLE_EQ(action_error(policy, {1.0, 10.0}, {1.0, 35.0}), 0.5);
  EXPECT_EQ(action_error(policy, {std::nan(""), 10.0}, {1.0, 10.0}), HUGE_VAL);
}

// obs [2] -> dense (input-major weights [[1, -1], [2, 0.5]], bias (0.5, 0)) -> relu -> scale by
// (2, 1), shift by (0, 1) -> argmax.
TEST(Interpreter, ComputesByHand) {
  PolicyGraph graph;
  const auto hidden = graph.relu(graph.dense(graph.obs(2), {1, -1, 2, 0.5}, {0.5, 0}));
  const auto scaled = graph.scale(hidden, {2, 1}, {0, 1});
  EXPECT_EQ(interpret_policy(graph, {1, 2}).action, (std::vector<double>{11, 1}));
  graph.argmax(scaled);
  const auto choice = interpret_policy(graph, {-1, -1});  // hidden (0, 0.5), scaled (0, 1.5)
  EXPECT_EQ(choice.action, std::vector<double>{1});
  EXPECT_EQ(choice.scores, (std::vector<double>{0, 1}));  // scores are divided by the largest, 1.5
  EXPECT_EQ(interpret_policy(graph, {-1, -1}, 0).action, std::vector<double>{0});
}

TEST(OnnxFile, NamesInputAndOutput) {
  const auto policy = made_policy("td3_bc");
  const auto exported = export_policy(*policy, "robot");
  onnx_model::Model model;
  ASSERT_TRUE(model.ParseFromString(write_onnx(exported)));
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.opset_import(0).version(), 17);
  ASSERT_EQ(model.graph().input_size(), 1);
  EXPECT_EQ(model.graph().input(0).name(), "obs");
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(1).dim_value(), 3);
  EXPECT_EQ(model.graph().output(0).name(), "action");
  EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(1).dim_value(), 1);
  EXPECT_EQ(model.graph().node(model.graph().node_size() - 1).output(0), "action");
}

TEST(CHeader, UsesNothingBeyondMathAndHoldsItsTest) {
  const auto policy = made_policy("bcq");
  auto exported = export_policy(*policy, "robot");
  exported.facts.insert(exported.facts.end(), {"observation: cos, sin, speed", "action: torque"});
  std::string text;
  write_and_verify(ExportFormat::c, *policy, random_rows(*policy, 100), exported, text);
  EXPECT_NE(text.find(" * observation: cos, sin, speed\n * action: torque\n"
                      " * input: 3 raw observation values; normalisation is included\n"
                      " * output: an action of size 1 in [-2, 2]\n"),
            std::string::npos)
      << text.substr(0, 1000);
  size_t includes = 0;
  for (size_t at = 0; (at = text.find("#include", at)) != std::string::npos; ++at) ++includes;
  EXPECT_EQ(includes, 1u);
  EXPECT_NE(text.find("#include <math.h>"), std::string::npos);
  for (const char* word : {"malloc", "printf", "static float", "double"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  }
  EXPECT_NE(text.find("robot_self_test"), std::string::npos);
  EXPECT_NE(text.find("the best of 100 sampled actions"), std::string::npos);
}

}  // namespace
}  // namespace rl_training
