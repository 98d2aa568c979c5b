#pragma once
#include <mujoco/mujoco.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rl_training/data/space.h"
#include "rl_training/envs/scene.h"
#include "rl_training/util/state.h"

namespace rl_training {

class Offscreen;

// The part of the world that a drawing shows.
struct MujocoView {
  bool from_above = false;  // false: from the side, with x to the right and z upward
  bool follows = false;     // moves with the first body in x; from above, also in y
  Point low = {}, high = {};
};

// Draws the bodies of a simulation at their current positions.
Scene mujoco_scene(const mjModel& model, const mjData& data, const MujocoView& view);
// Bodies cycle through a few colours, so that neighbours differ.
Color mujoco_body_color(int body);

using SharedModel = std::shared_ptr<const mjModel>;

// Compiles a model. Throws Error{internal} if MuJoCo rejects it.
std::shared_ptr<mjModel> compile_mujoco_model(const std::string& name, const std::string& text);

// Returns a thread-safe function that compiles the model at its first call. Later calls return the
// same model.
std::function<SharedModel()> compiled_once(std::function<SharedModel()> compile);

// A model and its data, with the operations that all MuJoCo tasks share.
class Simulation {
 public:
  // `name` appears in error messages.
  Simulation(SharedModel model, std::string name);
  ~Simulation();

  const mjModel& model() const { return *model_; }
  const mjData& data() const { return *data_; }
  mjData& data() { return *data_; }
  // The bounds of the motors, rounded to float32 as in Gymnasium.
  Space action_space() const;

  // Performs `frames` steps with these controls, then computes the forces on bodies if requested.
  // Returns false if values became very large or were not finite. MuJoCo has then reset the
  // simulation, or has replaced the controls by 0 if they were the cause.
  bool step(std::span<const double> controls, int frames, bool body_forces);

  // Positions, then velocities. `set_state` clears the rest of the simulation's data.
  std::vector<double> state() const;
  void set_state(std::span<const double> state);
  void visit_state(StateVisitor& state, bool body_forces);

  Scene scene(const MujocoView& view) const;
  // Empty if the renderer's library is not installed.
  Photo photo(int width, int height, const MujocoView& view) const;

 private:
  struct FreeData {
    void operator()(mjData* data) const { mj_deleteData(data); }
  };

  SharedModel model_;
  std::string name_;
  std::unique_ptr<mjData, FreeData> data_;
  mutable std::unique_ptr<Offscreen> renderer_;  // created by the first photo()
};

}  // namespace rl_training
