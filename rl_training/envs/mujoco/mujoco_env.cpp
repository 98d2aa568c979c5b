#include "rl_training/envs/mujoco/mujoco_env.h"

#include <mujoco/mujoco.h>

#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "rl_training/envs/mujoco/mujoco_task.h"
#include "rl_training/envs/mujoco/offscreen.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

using SharedModel = std::shared_ptr<const mjModel>;

// MuJoCo would print, append to MUJOCO_LOG.TXT and leave the process. Ours throws, and warnings
// are read from their counters after each step. An embedding program's own handlers are kept.
void take_over_messages() {
  if (!mju_user_error) {
    mju_user_error = [](const char* message) {
      throw Error(ErrorKind::internal, std::string("MuJoCo: ") + message);
    };
  }
  if (!mju_user_warning) mju_user_warning = [](const char*) {};
}

}  // namespace

SharedModel load_mujoco_model(const MujocoTask& task) {
  take_over_messages();
  const std::string file = std::string(task.model) + ".xml";
  const std::string_view text = mujoco_model_text(task.model);
  const auto release = [](mjVFS* files) {
    mj_deleteVFS(files);
    delete files;
  };
  const std::unique_ptr<mjVFS, decltype(release)> files(new mjVFS, release);  // 2 MB
  mj_defaultVFS(files.get());
  char problem[1000] = "no such model";
  mjModel* model = nullptr;
  if (!text.empty() &&
      mj_makeEmptyFileVFS(files.get(), file.c_str(), static_cast<int>(text.size())) == 0) {
    const int index = mj_findFileVFS(files.get(), file.c_str());
    std::memcpy(files->filedata[index], text.data(), text.size());
    model = mj_loadXML(file.c_str(), files.get(), problem, sizeof problem);
  }
  if (!model) throw Error(ErrorKind::internal, {file, 0, ""}, std::string("MuJoCo: ") + problem);
  return {model, [](mjModel* owned) { mj_deleteModel(owned); }};
}

namespace {

class MujocoEnv final : public Environment {
 public:
  MujocoEnv(const MujocoTask& task, SharedModel model, std::string summary);

  const EnvSpec& spec() const override { return spec_; }
  void visit_options(OptionVisitor& options) override;
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override;
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override;
  void visit_state(StateVisitor& state) override;
  Scene scene() const override { return mujoco_scene(*model_, *data_, task_.view); }
  Photo photo(int width, int height) const override;

 private:
  struct FreeData {
    void operator()(mjData* data) const { mj_deleteData(data); }
  };

  bool simulation_failed() const;
  bool wants_body_forces() const { return task_.body_forces || options_.use_contact_forces; }

  const MujocoTask& task_;
  MujocoOptions options_;
  SharedModel model_;
  std::unique_ptr<mjData, FreeData> data_;
  EnvSpec spec_;
  mutable std::unique_ptr<Offscreen> renderer_;  // made for the first photograph
};

MujocoEnv::MujocoEnv(const MujocoTask& task, SharedModel model, std::string summary)
    : task_(task),
      options_(task.options),
      model_(std::move(model)),
      data_(mj_makeData(model_.get())) {
  if (!data_) throw Error(ErrorKind::internal, "MuJoCo: no memory for the simulation");
  spec_.id = task_.id;
  spec_.observation = Space::unbounded(task_.obs_dim_with(options_, *model_));
  std::vector<double> low, high;
  for (int i = 0; i < model_->nu; ++i) {
    // Gymnasium's action spaces are float32.
    const mjtNum* const range = model_->actuator_ctrlrange + int64_t{2} * i;
    low.push_back(static_cast<float>(range[0]));
    high.push_back(static_cast<float>(range[1]));
  }
  spec_.action = Space::box(std::move(low), std::move(high));
  spec_.max_episode_steps = task_.max_episode_steps;
  spec_.summary = std::move(summary);
  mj_forward(model_.get(), data_.get());
}

Photo MujocoEnv::photo(int width, int height) const {
  if (!renderer_ || !renderer_->fits(width, height)) {
    renderer_ = Offscreen::make(*model_, width, height);
  }
  return renderer_ ? renderer_->shoot(*data_, task_.view) : Photo();
}

void MujocoEnv::visit_options(OptionVisitor& options) {
  visit_mujoco_options(options, task_.keys, options_);
  spec_.observation = Space::unbounded(task_.obs_dim_with(options_, *model_));
}

// All position draws come before the first velocity draw.
void MujocoEnv::reset(Rng& rng, std::span<double> obs) {
  const auto add_noise = [&](ResetNoise noise, std::span<double> values) {
    if (noise.scale == 0) return;
    for (double& value : values) {
      value += noise.normal ? noise.scale * rng.normal() : rng.uniform(-noise.scale, noise.scale);
    }
  };
  std::vector<double> start(model_->qpos0, model_->qpos0 + model_->nq);
  start.resize(start.size() + static_cast<size_t>(model_->nv));
  const std::span<double> positions(start.data(), static_cast<size_t>(model_->nq));
  const std::span<double> velocities(start.data() + model_->nq, static_cast<size_t>(model_->nv));
  add_noise(options_.position_noise, positions);
  if (task_.place) task_.place(rng, positions);
  add_noise(options_.velocity_noise, velocities);
  std::fill(velocities.end() - task_.resting, velocities.end(), 0.0);
  set_state(start);
  observe(obs);
}

StepResult MujocoEnv::step(std::span<const double> action, std::span<double> obs) {
  const Measures before = task_.measure(*model_, *data_);
  std::copy(action.begin(), action.begin() + model_->nu, data_->ctrl);
  for (mjWarningStat& warning : data_->warning) warning = {};
  for (int i = 0; i < task_.frame_skip; ++i) mj_step(model_.get(), data_.get());
  if (wants_body_forces()) mj_rnePostConstraint(model_.get(), data_.get());
  observe(obs);
  // The task is lost and what MuJoCo reset itself to has no value of its own.
  if (simulation_failed()) return {0, true, false};
  const bool fell = task_.fell && task_.fell(*model_, *data_, options_);
  const StepView view = {.model = *model_,
                         .data = *data_,
                         .options = options_,
                         .action = action,
                         .before = before,
                         .after = task_.measure(*model_, *data_),
                         .seconds = model_->opt.timestep * task_.frame_skip,
                         .fell = fell};
  return {task_.reward(view), fell && options_.terminate_when_unhealthy, false};
}

// On numbers that are not finite or huge MuJoCo resets the simulation and counts a warning.
bool MujocoEnv::simulation_failed() const {
  bool failed = false;
  for (int i = 0; i < mjNWARNING; ++i) {
    if (data_->warning[i].number == 0) continue;
    if (i != mjWARN_BADQPOS && i != mjWARN_BADQVEL && i != mjWARN_BADQACC && i != mjWARN_BADCTRL) {
      throw Error(ErrorKind::internal,
                  spec_.id + ": MuJoCo: " + mju_warningText(i, data_->warning[i].lastinfo));
    }
    failed = true;
  }
  return failed;
}

std::vector<double> MujocoEnv::state() const {
  std::vector<double> all(data_->qpos, data_->qpos + model_->nq);
  all.insert(all.end(), data_->qvel, data_->qvel + model_->nv);
  return all;
}

void MujocoEnv::set_state(std::span<const double> state) {
  if (static_cast<int>(state.size()) != model_->nq + model_->nv) {
    throw Error(ErrorKind::internal, spec_.id + ": the state is positions and velocities");
  }
  mj_resetData(model_.get(), data_.get());
  std::copy(state.begin(), state.begin() + model_->nq, data_->qpos);
  std::copy(state.begin() + model_->nq, state.end(), data_->qvel);
  mj_forward(model_.get(), data_.get());
}

void MujocoEnv::observe(std::span<double> obs) const {
  ObsWriter out(obs.first(static_cast<size_t>(spec_.observation.size())));
  task_.observe(*model_, *data_, options_, out);
}

// First what MuJoCo integrates (with the solver's warm start), then what observations and rewards
// read from the last step: it cannot be computed again from the rest.
void MujocoEnv::visit_state(StateVisitor& state) {
  const auto numbers = [&](const char* name, mjtNum* values, int count) {
    const std::array<int64_t, 1> shape = {count};
    state.array(name, DType::f64, shape, values);
  };
  mjData& data = *data_;
  state.scalar("time", data.time);
  numbers("qpos", data.qpos, model_->nq);
  numbers("qvel", data.qvel, model_->nv);
  numbers("ctrl", data.ctrl, model_->nu);
  numbers("qacc_warmstart", data.qacc_warmstart, model_->nv);

  numbers("xpos", data.xpos, 3 * model_->nbody);
  numbers("xipos", data.xipos, 3 * model_->nbody);
  if (model_->nsite > 0) numbers("site_xpos", data.site_xpos, 3 * model_->nsite);
  numbers("qfrc_constraint", data.qfrc_constraint, model_->nv);
  numbers("qfrc_actuator", data.qfrc_actuator, model_->nv);
  if (wants_body_forces()) {
    numbers("cinert", data.cinert, 10 * model_->nbody);
    numbers("cvel", data.cvel, 6 * model_->nbody);
    numbers("cfrc_ext", data.cfrc_ext, 6 * model_->nbody);
  }
}

}  // namespace

std::function<std::unique_ptr<Environment>()> mujoco_maker(const std::string& id,
                                                           const std::string& summary) {
  struct Loaded {
    std::once_flag once;
    SharedModel model;
  };
  return [id, summary, loaded = std::make_shared<Loaded>()]() -> std::unique_ptr<Environment> {
    const MujocoTask* task = find_mujoco_task(id);
    if (!task) throw Error(ErrorKind::internal, "no rules for the MuJoCo task " + id);
    std::call_once(loaded->once, [&] { loaded->model = load_mujoco_model(*task); });
    return std::make_unique<MujocoEnv>(*task, loaded->model, summary);
  };
}

}  // namespace rl_training
