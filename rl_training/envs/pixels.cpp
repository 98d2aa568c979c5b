#include "rl_training/envs/pixels.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rl_training/envs/paint.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

void refuse_unless(bool fits, const EnvSpec& spec, const char* key, const std::string& why) {
  if (fits) return;
  throw Error(ErrorKind::config, {"", 0, std::string("env_kwargs.wrappers.pixels") + key},
              "`" + spec.id + "` " + why);
}

}  // namespace

void PixelOptions::visit_options(OptionVisitor& options) {
  options.integer("size", size, between(16, 512), "rows and columns of a frame");
  options.integer("frame_stack", frame_stack, between(1, 16),
                  "number of latest frames in an observation");
  options.integer("action_repeat", action_repeat, between(1, 100),
                  "task steps per action; their rewards are summed");
  options.choice("renderer", renderer, {{"drawing", Renderer::drawing}, {"photo", Renderer::photo}},
                 "the task's own line drawing, or MuJoCo's renderer (libosmesa6)");
}

Pixels::Pixels(std::unique_ptr<Environment> inner, const PixelOptions& options)
    : inner_(std::move(inner)),
      options_(options),
      spec_(inner_->spec()),
      inner_obs_(static_cast<size_t>(spec_.observation.size())) {
  const bool photo = options.renderer == PixelOptions::Renderer::photo;
  const int size = static_cast<int>(options.size);
  refuse_unless(!spec_.observation.is_image(), spec_, "", "observes images already");
  refuse_unless(!inner_->scene().shapes.empty(), spec_, "",
                "cannot be drawn (its class does not override scene())");
  refuse_unless(!photo || !inner_->photo(size, size).rgb.empty(), spec_, ".renderer",
                "cannot be rendered by MuJoCo here (expected a MuJoCo task and libosmesa6, or "
                "renderer: drawing)");
  spec_.observation =
      Space::image(3 * options.frame_stack, options.size, options.size, options.frame_stack);
  spec_.max_episode_steps =
      (spec_.max_episode_steps + options.action_repeat - 1) / options.action_repeat;
  spec_.one_thread = spec_.one_thread || photo;  // only one thread can use a GL context
  frames_.resize(static_cast<size_t>(spec_.observation.size()));
}

std::span<uint8_t> Pixels::frame(int64_t place) {
  const auto bytes = frames_.size() / static_cast<size_t>(options_.frame_stack);
  return std::span(frames_).subspan(static_cast<size_t>(place) * bytes, bytes);
}

void Pixels::paint_newest() {
  const auto newest = frame(options_.frame_stack - 1);
  if (options_.renderer == PixelOptions::Renderer::drawing) {
    return paint_scene(inner_->scene(), options_.size, newest);
  }
  const int size = static_cast<int>(options_.size);
  paint_photo(inner_->photo(size, size), newest);
}

void Pixels::fill_with_first() {
  paint_newest();
  const auto newest = frame(options_.frame_stack - 1);
  for (int64_t place = 0; place + 1 < options_.frame_stack; ++place) {
    std::copy(newest.begin(), newest.end(), frame(place).begin());
  }
}

void Pixels::reset(Rng& rng, std::span<double> /*obs*/) {
  inner_->reset(rng, inner_obs_);
  fill_with_first();
}

StepResult Pixels::step(std::span<const double> action, std::span<double> /*obs*/) {
  StepResult result;
  for (int64_t i = 0; i < options_.action_repeat && !result.terminated && !result.truncated; ++i) {
    const double before = result.reward;
    result = inner_->step(action, inner_obs_);
    result.reward += before;
  }
  const auto bytes = static_cast<int64_t>(frame(0).size());
  std::copy(frames_.begin() + bytes, frames_.end(), frames_.begin());
  paint_newest();
  return result;
}

void Pixels::set_state(std::span<const double> state) {
  inner_->set_state(state);
  fill_with_first();
}

void Pixels::observe_pixels(std::span<uint8_t> image) const {
  std::copy(frames_.begin(), frames_.end(), image.begin());
}

void Pixels::visit_state(StateVisitor& state) {
  state.part("env", *inner_);
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(frames_.size())};
  state.array("frames", DType::u8, shape, frames_.data());
}

}  // namespace rl_training
