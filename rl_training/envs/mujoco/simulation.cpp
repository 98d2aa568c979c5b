#include "rl_training/envs/mujoco/simulation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "rl_training/envs/mujoco/offscreen.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// By default, MuJoCo prints errors, appends them to MUJOCO_LOG.TXT and exits. This error handler
// throws instead. The warning handler does nothing: warnings are read from MuJoCo's counters after
// each step. Handlers that the embedding program has set stay in place.
void take_over_messages() {
  if (!mju_user_error) {
    mju_user_error = [](const char* message) {
      throw Error(ErrorKind::internal, std::string("MuJoCo: ") + message);
    };
  }
  if (!mju_user_warning) mju_user_warning = [](const char*) {};
}

}  // namespace

std::shared_ptr<mjModel> compile_mujoco_model(const std::string& name, const std::string& text) {
  take_over_messages();
  const std::string file = name + ".xml";
  // mjVFS takes 2 MB, so it is allocated on the heap.
  const auto release = [](mjVFS* files) {
    mj_deleteVFS(files);
    delete files;
  };
  const std::unique_ptr<mjVFS, decltype(release)> files(new mjVFS, release);
  mj_defaultVFS(files.get());
  char problem[1000] = "no such model";
  mjModel* model = nullptr;
  if (mj_makeEmptyFileVFS(files.get(), file.c_str(), static_cast<int>(text.size())) == 0) {
    const int index = mj_findFileVFS(files.get(), file.c_str());
    std::memcpy(files->filedata[index], text.data(), text.size());
    model = mj_loadXML(file.c_str(), files.get(), problem, sizeof problem);
  }
  if (!model) throw Error(ErrorKind::internal, {file, 0, ""}, std::string("MuJoCo: ") + problem);
  return {model, [](mjModel* owned) { mj_deleteModel(owned); }};
}

std::function<SharedModel()> compiled_once(std::function<SharedModel()> compile) {
  struct Compiled {
    std::once_flag once;
    SharedModel model;
  };
  return [compile = std::move(compile), compiled = std::make_shared<Compiled>()] {
    std::call_once(compiled->once, [&] { compiled->model = compile(); });
    return compiled->model;
  };
}

Simulation::Simulation(SharedModel model, std::string name)
    : model_(std::move(model)), name_(std::move(name)), data_(mj_makeData(model_.get())) {
  if (!data_) throw Error(ErrorKind::internal, "MuJoCo: no memory for the simulation");
  mj_forward(model_.get(), data_.get());
}

Simulation::~Simulation() = default;

Space Simulation::action_space() const {
  std::vector<double> low, high;
  for (int i = 0; i < model_->nu; ++i) {
    const mjtNum* const range = model_->actuator_ctrlrange + int64_t{2} * i;
    low.push_back(static_cast<float>(range[0]));
    high.push_back(static_cast<float>(range[1]));
  }
  return Space::box(std::move(low), std::move(high));
}

bool Simulation::step(std::span<const double> controls, int frames, bool body_forces) {
  std::copy(controls.begin(), controls.begin() + model_->nu, data_->ctrl);
  for (mjWarningStat& warning : data_->warning) warning = {};
  for (int i = 0; i < frames; ++i) mj_step(model_.get(), data_.get());
  if (body_forces) mj_rnePostConstraint(model_.get(), data_.get());
  bool good = true;
  for (int i = 0; i < mjNWARNING; ++i) {
    if (data_->warning[i].number == 0) continue;
    if (i != mjWARN_BADQPOS && i != mjWARN_BADQVEL && i != mjWARN_BADQACC && i != mjWARN_BADCTRL) {
      throw Error(ErrorKind::internal,
                  name_ + ": MuJoCo: " + mju_warningText(i, data_->warning[i].lastinfo));
    }
    good = false;
  }
  return good;
}

std::vector<double> Simulation::state() const {
  std::vector<double> all(data_->qpos, data_->qpos + model_->nq);
  all.insert(all.end(), data_->qvel, data_->qvel + model_->nv);
  return all;
}

void Simulation::set_state(std::span<const double> state) {
  if (static_cast<int>(state.size()) != model_->nq + model_->nv) {
    throw Error(ErrorKind::internal, name_ + ": the state is positions and velocities");
  }
  mj_resetData(model_.get(), data_.get());
  std::copy(state.begin(), state.begin() + model_->nq, data_->qpos);
  std::copy(state.begin() + model_->nq, state.end(), data_->qvel);
  mj_forward(model_.get(), data_.get());
}

// Visits the state that MuJoCo integrates and the solver's warm start. Observations and rewards
// also depend on results of the last step. These results cannot be recomputed from the state, so
// they are visited as well.
void Simulation::visit_state(StateVisitor& state, bool body_forces) {
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
  if (body_forces) {
    numbers("cinert", data.cinert, 10 * model_->nbody);
    numbers("cvel", data.cvel, 6 * model_->nbody);
    numbers("cfrc_ext", data.cfrc_ext, 6 * model_->nbody);
  }
}

Scene Simulation::scene(const MujocoView& view) const {
  return mujoco_scene(*model_, *data_, view);
}

Photo Simulation::photo(int width, int height, const MujocoView& view) const {
  if (!renderer_ || !renderer_->fits(width, height)) {
    renderer_ = Offscreen::make(*model_, width, height);
  }
  return renderer_ ? renderer_->shoot(*data_, view) : Photo();
}

}  // namespace rl_training
