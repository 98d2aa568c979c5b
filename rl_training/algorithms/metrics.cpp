#include "rl_training/algorithms/metrics.h"

namespace rl_training {

void visit_metric(StateVisitor& state, const std::string& name, torch::Tensor& value) {
  bool known = value.defined();
  float number = known ? value.item<float>() : 0.0f;
  state.scalar(name + ".known", known);
  state.array(name, DType::f32, {}, &number);
  value = known ? torch::full({}, number) : torch::Tensor();
}

}  // namespace rl_training
