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

// Any task with a picture, seen as pixels: the observation is the latest `frame_stack` frames of
// the task, red, green and blue planes of size x size each, the oldest first. The first frame of an
// episode stands for those before it. Each action is repeated, and the rewards of its steps are
// added up, until the episode ends.
class Pixels final : public Environment {
 public:
  // `inner` counts its own steps, also those of a time limit. Error{config} at
  // `env_kwargs.wrappers.pixels` where it has no picture of the kind.
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
