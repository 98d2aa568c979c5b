#pragma once
#include <box2d/box2d.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "rl_training/util/rng.h"

namespace rl_training {

// Pixels of Gymnasium's window per unit of length in Box2D.
constexpr double kLanderScale = 30;
constexpr double kLanderWidth = 600 / kLanderScale;
constexpr double kLanderHeight = 400 / kLanderScale;
constexpr int kLanderPoints = 11;     // number of terrain points
constexpr double kLanderFrames = 50;  // steps per second

// Position and velocity of the hull or of a leg.
struct BodyPose {
  double x, y, angle, speed_x, speed_y, turn;
};

// Everything that determines an episode besides the actions.
struct LanderStart {
  std::array<double, kLanderPoints + 1> heights;  // random terrain heights before smoothing
  std::array<BodyPose, 3> bodies;                 // hull, left leg, right leg
  double force_x, force_y;                        // a push on the hull during the first step
  uint64_t seed;                                  // for the wind and the noise of the engines
};
LanderStart random_lander_start(Rng& rng);

// The options of Gymnasium's constructor.
struct LanderOptions {
  double gravity = -10;
  bool enable_wind = false;
  double wind_power = 15, turbulence_power = 1.5;  // largest force and torque of the wind
};

// The simulated world of one episode.
class LanderWorld final : public b2ContactListener {
 public:
  LanderWorld(const LanderStart& start, const LanderOptions& options);

  // Fires the engines and advances the world by 1/50 s. `engines` contains the action {main, side},
  // which is clipped to [-1, 1].
  void step(std::span<const double> engines);

  BodyPose pose(int body) const;
  bool leg_touches(int leg) const { return touches_[static_cast<size_t>(leg)]; }
  bool crashed() const { return crashed_; }  // the hull touched the ground
  bool asleep() const { return !bodies_[0]->IsAwake(); }
  double main_power() const { return main_power_; }
  double side_power() const { return side_power_; }  // the sign gives the direction
  const std::array<b2Body*, 3>& bodies() const { return bodies_; }
  const std::array<double, kLanderPoints>& terrain() const { return terrain_; }

  void BeginContact(b2Contact* contact) override { on_contact(*contact, true); }
  void EndContact(b2Contact* contact) override { on_contact(*contact, false); }

 private:
  void add_terrain();
  void add_hull(const BodyPose& pose);
  void add_leg(int side, const BodyPose& pose);
  b2Body* add_body(const BodyPose& pose);
  void on_contact(b2Contact& contact, bool begins);
  void blow();

  LanderOptions options_;
  b2World world_;
  Rng rng_;
  double wind_phase_ = 0, turbulence_phase_ = 0;  // in steps
  std::array<double, kLanderPoints> terrain_{};
  std::array<b2Body*, 3> bodies_{};  // owned by the world
  std::array<bool, 2> touches_{};
  bool crashed_ = false;
  double main_power_ = 0, side_power_ = 0;
};

constexpr double kPadHeight = kLanderHeight / 4;
constexpr double kLegDown = 18 / kLanderScale;

}  // namespace rl_training
