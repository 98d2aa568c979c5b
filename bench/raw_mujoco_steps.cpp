#include "bench/env_contenders.h"
#ifdef RL_TRAINING_MUJOCO
#include "rl_training/envs/mujoco/mujoco_task.h"

namespace rl_training {
namespace {

class RawSteps final : public Contender {
 public:
  RawSteps(const StepScript& script, const MujocoTask& task)
      : script_(script),
        task_(task),
        model_(load_mujoco_model(task)),
        data_(mj_makeData(model_.get())) {}
  ~RawSteps() override { mj_deleteData(data_); }

  double seconds_for(int64_t steps) override {
    const bool forces = task_.body_forces || task_.options.use_contact_forces;
    const double* action = script_.actions.data();
    auto next_start = script_.starts.begin();
    const double begin = thread_seconds();
    for (int64_t i = 0; i < std::min(steps, script_.steps); ++i) {
      if (next_start != script_.starts.end() && next_start->step == i) {
        start(next_start->state);
        ++next_start;
      }
      std::copy_n(action, model_->nu, data_->ctrl);
      action += model_->nu;
      for (int frame = 0; frame < task_.options.frame_skip; ++frame) mj_step(model_.get(), data_);
      if (forces) mj_rnePostConstraint(model_.get(), data_);
    }
    return thread_seconds() - begin;
  }

 private:
  void start(const std::vector<double>& state) {
    mj_resetData(model_.get(), data_);
    std::copy_n(state.begin(), model_->nq, data_->qpos);
    std::copy_n(state.begin() + model_->nq, model_->nv, data_->qvel);
    mj_forward(model_.get(), data_);
  }

  const StepScript& script_;
  const MujocoTask& task_;
  std::shared_ptr<const mjModel> model_;
  mjData* data_;
};

}  // namespace

std::unique_ptr<Contender> make_raw_mujoco_steps(const StepScript& script) {
  const MujocoTask* task = find_mujoco_task(script.env_id);
  return task == nullptr ? nullptr : std::make_unique<RawSteps>(script, *task);
}

}  // namespace rl_training
#else
namespace rl_training {

std::unique_ptr<Contender> make_raw_mujoco_steps(const StepScript&) { return nullptr; }

}  // namespace rl_training
#endif
