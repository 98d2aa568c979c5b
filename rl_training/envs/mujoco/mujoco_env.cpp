#include "rl_training/envs/mujoco/mujoco_env.h"

#include <utility>
#include <vector>

#include "rl_training/envs/mujoco/mujoco_task.h"
#include "rl_training/util/error.h"

namespace rl_training {

std::string edited_mujoco_model(std::string_view name, std::span<const ModelEdit> edits) {
  std::string text(mujoco_model_text(name));
  for (const ModelEdit& edit : edits) {
    const std::string_view from = edit.from, to = edit.to;
    size_t at = text.find(from), found = 0;
    for (; at != std::string::npos; at = text.find(from, at + to.size()), ++found) {
      text.replace(at, from.size(), to);
    }
    if (found == 0) {
      throw Error(ErrorKind::internal, {std::string(name) + ".xml", 0, ""},
                  "the model has no `" + std::string(from) + "` to replace");
    }
  }
  return text;
}

SharedModel load_mujoco_model(const MujocoTask& task) {
  auto model = compile_mujoco_model(task.model, edited_mujoco_model(task.model, task.edits));
  if (task.old_masses) use_old_masses(*model, *task.old_masses);
  return model;
}

namespace {

class MujocoEnv final : public Environment {
 public:
  MujocoEnv(const MujocoTask& task, SharedModel model, std::string summary)
      : task_(task), options_(task.options), simulation_(std::move(model), task.id) {
    spec_.id = task_.id;
    spec_.observation = Space::unbounded(obs_dim());
    spec_.action = simulation_.action_space();
    spec_.max_episode_steps = task_.max_episode_steps;
    spec_.summary = std::move(summary);
  }

  const EnvSpec& spec() const override { return spec_; }
  void visit_options(OptionVisitor& options) override {
    visit_mujoco_options(options, task_.keys, options_);
    spec_.observation = Space::unbounded(obs_dim());
  }
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override { return simulation_.state(); }
  void set_state(std::span<const double> state) override { simulation_.set_state(state); }
  void observe(std::span<double> obs) const override {
    ObsWriter out(obs.data());
    task_.observe(simulation_.model(), simulation_.data(), options_, out);
  }
  void visit_state(StateVisitor& state) override {
    simulation_.visit_state(state, wants_body_forces());
  }
  Scene scene() const override { return simulation_.scene(task_.view); }
  Photo photo(int width, int height) const override {
    return simulation_.photo(width, height, task_.view);
  }

 private:
  bool wants_body_forces() const { return task_.body_forces || options_.use_contact_forces; }
  int64_t obs_dim() const {
    ObsWriter counter;
    task_.observe(simulation_.model(), simulation_.data(), options_, counter);
    return counter.count();
  }

  const MujocoTask& task_;
  MujocoOptions options_;
  Simulation simulation_;
  EnvSpec spec_;
};

// Draws all positions before the first velocity, as Gymnasium does.
void MujocoEnv::reset(Rng& rng, std::span<double> obs) {
  const auto add_noise = [&](ResetNoise noise, std::span<double> values) {
    if (noise.scale == 0) return;
    for (double& value : values) {
      value += noise.normal ? noise.scale * rng.normal() : rng.uniform(-noise.scale, noise.scale);
    }
  };
  const mjModel& model = simulation_.model();
  std::vector<double> start(model.qpos0, model.qpos0 + model.nq);
  start.resize(start.size() + static_cast<size_t>(model.nv));
  const std::span<double> positions(start.data(), static_cast<size_t>(model.nq));
  const std::span<double> velocities(start.data() + model.nq, static_cast<size_t>(model.nv));
  add_noise(options_.position_noise, positions);
  if (task_.place) task_.place(rng, positions);
  add_noise(options_.velocity_noise, velocities);
  std::fill(velocities.end() - task_.resting, velocities.end(), 0.0);
  set_state(start);
  observe(obs);
}

StepResult MujocoEnv::step(std::span<const double> action, std::span<double> obs) {
  const mjModel& model = simulation_.model();
  const mjData& data = simulation_.data();
  const Measures before = task_.measure(model, data);
  const auto frames = static_cast<int>(options_.frame_skip);
  const bool good = simulation_.step(action, frames, wants_body_forces());
  observe(obs);
  // The simulation diverged. MuJoCo has reset its state or ignored the action, so there is nothing
  // to compute a reward from.
  if (!good) return {0, true, false};
  const bool fell = task_.fell && task_.fell(model, data, options_);
  const StepView view = {.model = model,
                         .data = data,
                         .options = options_,
                         .action = action,
                         .before = before,
                         .after = task_.measure(model, data),
                         .seconds = model.opt.timestep * frames,
                         .fell = fell};
  return {task_.reward(view), fell && options_.terminate_when_unhealthy, false};
}

}  // namespace

std::function<std::unique_ptr<Environment>()> mujoco_maker(const std::string& id,
                                                           const std::string& summary) {
  const MujocoTask* task = find_mujoco_task(id);
  if (!task) throw Error(ErrorKind::internal, "no rules for the MuJoCo task " + id);
  auto model = compiled_once([task] { return load_mujoco_model(*task); });
  return [task, summary, model = std::move(model)] {
    return std::make_unique<MujocoEnv>(*task, model(), summary);
  };
}

}  // namespace rl_training
