#pragma once
#include <memory>
#include <vector>

#include "rl_training/envs/environment.h"

namespace rl_training {

// `env_kwargs.wrappers.pixels`
struct PixelOptions {
  enum class Renderer { drawing, photo };
  bool used = false;
  int64_t size = 84;
  int64_t frame_stack = 3;
  int64_t action_repeat = 2;
  Renderer renderer = Renderer::drawing;

  void visit_options(OptionVisitor& options);
};

// Wraps a task that can be drawn. The observation consists of the latest `frame_stack` frames,
// oldest first, each as red, green and blue planes of size x size pixels. At the start of an
// episode, the first frame fills the whole stack. Each action is repeated `action_repeat` times, or
// until the episode ends, and the rewards are summed.
class Pixels final : public Environment {
 public:
  // The time limit of `inner` counts steps of the task, not actions. Throws Error{config} at
  // `env_kwargs.wrappers.pixels` if the task cannot be rendered with these options.
  Pixels(std::unique_ptr<Environment> inner, const PixelOptions& options);

  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override { return inner_->state(); }
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> /*obs*/) const override {}
  void observe_pixels(std::span<uint8_t> image) const override;
  void visit_state(StateVisitor& state) override;
  Scene scene() const override { return inner_->scene(); }
  Photo photo(int width, int height) const override { return inner_->photo(width, height); }

 private:
  std::span<uint8_t> frame(int64_t place);
  void paint_newest();
  void fill_with_first();

  std::unique_ptr<Environment> inner_;
  PixelOptions options_;
  EnvSpec spec_;
  std::vector<double> inner_obs_;
  std::vector<uint8_t> frames_;
};

}  // namespace rl_training
