#include "rl_training/envs/box2d/lander_world.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rl_training {
namespace {

constexpr double kScale = kLanderScale;
constexpr double kMainPower = 13, kSidePower = 0.6;
constexpr double kMainEngineDown = 4 / kScale;
constexpr double kSideEngineUp = 14 / kScale, kSideEngineAway = 12 / kScale;
constexpr double kLegAway = 20 / kScale;
constexpr float kLegTorque = 40;
constexpr double kFirstPush = 1000;
constexpr int kLargestPhase = 9999;  // largest initial phase of the wind, in steps
constexpr uint16 kGroundBit = 1, kHullBit = 0x10, kLegBit = 0x20;

b2Vec2 vec(double x, double y) { return {static_cast<float>(x), static_cast<float>(y)}; }

b2FixtureDef fixture(const b2Shape& shape, float density, uint16 category) {
  b2FixtureDef definition;
  definition.shape = &shape;
  definition.density = density;
  definition.restitution = 0;
  definition.filter.categoryBits = category;
  definition.filter.maskBits = kGroundBit;
  return definition;
}

}  // namespace

// Draws the terrain and the push in Gymnasium's order. For the same seed, the first reset therefore
// creates the same terrain as Gymnasium.
LanderStart random_lander_start(Rng& rng) {
  LanderStart start;
  for (double& height : start.heights) height = rng.uniform(0, kLanderHeight / 2);
  start.force_x = rng.uniform(-kFirstPush, kFirstPush);
  start.force_y = rng.uniform(-kFirstPush, kFirstPush);
  start.seed = rng.next();
  start.bodies[0] = {kLanderWidth / 2, kLanderHeight, 0, 0, 0, 0};
  for (const int side : {-1, 1}) {
    start.bodies[side < 0 ? 1 : 2] = {
        kLanderWidth / 2 - side * kLegAway, kLanderHeight, side * 0.05, 0, 0, 0};
  }
  return start;
}

LanderWorld::LanderWorld(const LanderStart& start, const LanderOptions& options)
    : options_(options), world_(vec(0, options.gravity)), rng_(start.seed) {
  if (options_.enable_wind) {
    for (double* phase : {&wind_phase_, &turbulence_phase_}) {
      *phase = static_cast<double>(rng_.below(uint64_t{2} * kLargestPhase)) - kLargestPhase;
    }
  }
  world_.SetContactListener(this);
  auto heights = start.heights;
  constexpr int kMiddle = kLanderPoints / 2;
  std::fill(heights.begin() + kMiddle - 2, heights.begin() + kMiddle + 3, kPadHeight);
  for (int i = 0; i < kLanderPoints; ++i) {
    const double left = i > 0 ? heights[static_cast<size_t>(i - 1)] : heights.back();
    terrain_[static_cast<size_t>(i)] =
        0.33 * (left + heights[static_cast<size_t>(i)] + heights[static_cast<size_t>(i) + 1]);
  }
  add_terrain();
  add_hull(start.bodies[0]);
  bodies_[0]->ApplyForceToCenter(vec(start.force_x, start.force_y), true);
  add_leg(-1, start.bodies[1]);
  add_leg(1, start.bodies[2]);
  // Velocities refer to the centres of mass, which are known only after the shapes have been added.
  for (size_t i = 0; i < bodies_.size(); ++i) {
    bodies_[i]->SetLinearVelocity(vec(start.bodies[i].speed_x, start.bodies[i].speed_y));
    bodies_[i]->SetAngularVelocity(static_cast<float>(start.bodies[i].turn));
  }
}

void LanderWorld::add_terrain() {
  const b2BodyDef definition;
  b2Body* ground = world_.CreateBody(&definition);
  b2EdgeShape edge;
  edge.SetTwoSided(vec(0, 0), vec(kLanderWidth, 0));
  ground->CreateFixture(&edge, 0);
  constexpr double kSpacing = kLanderWidth / (kLanderPoints - 1);
  for (int i = 0; i + 1 < kLanderPoints; ++i) {
    edge.SetTwoSided(vec(kSpacing * i, terrain_[static_cast<size_t>(i)]),
                     vec(kSpacing * (i + 1), terrain_[static_cast<size_t>(i) + 1]));
    b2FixtureDef piece;
    piece.shape = &edge;
    piece.friction = 0.1f;
    ground->CreateFixture(&piece);
  }
}

b2Body* LanderWorld::add_body(const BodyPose& pose) {
  b2BodyDef definition;
  definition.type = b2_dynamicBody;
  definition.position = vec(pose.x, pose.y);
  definition.angle = static_cast<float>(pose.angle);
  return world_.CreateBody(&definition);
}

void LanderWorld::add_hull(const BodyPose& pose) {
  bodies_[0] = add_body(pose);
  const b2Vec2 corners[] = {
      vec(-14 / kScale, 17 / kScale), vec(-17 / kScale, 0), vec(-17 / kScale, -10 / kScale),
      vec(17 / kScale, -10 / kScale), vec(17 / kScale, 0),  vec(14 / kScale, 17 / kScale)};
  b2PolygonShape shape;
  shape.Set(corners, 6);
  auto definition = fixture(shape, 5, kHullBit);
  definition.friction = 0.1f;
  bodies_[0]->CreateFixture(&definition);
}

// The legs act like springs: a motor turns each leg outward against the limit of its joint.
void LanderWorld::add_leg(int side, const BodyPose& pose) {
  b2Body* leg = bodies_[side < 0 ? 1 : 2] = add_body(pose);
  b2PolygonShape shape;
  shape.SetAsBox(static_cast<float>(2 / kScale), static_cast<float>(8 / kScale));
  const auto definition = fixture(shape, 1, kLegBit);
  leg->CreateFixture(&definition);

  b2RevoluteJointDef joint;
  joint.bodyA = bodies_[0];
  joint.bodyB = leg;
  joint.localAnchorA = vec(0, 0);
  joint.localAnchorB = vec(side * kLegAway, kLegDown);
  joint.enableMotor = joint.enableLimit = true;
  joint.maxMotorTorque = kLegTorque;
  joint.motorSpeed = 0.3f * static_cast<float>(side);
  joint.lowerAngle = static_cast<float>(side < 0 ? 0.9 - 0.5 : -0.9);
  joint.upperAngle = static_cast<float>(side < 0 ? 0.9 : -0.9 + 0.5);
  world_.CreateJoint(&joint);
}

void LanderWorld::on_contact(b2Contact& contact, bool begins) {
  const b2Body* const pair[] = {contact.GetFixtureA()->GetBody(), contact.GetFixtureB()->GetBody()};
  for (const b2Body* body : pair) {
    if (begins && body == bodies_[0]) crashed_ = true;
    for (const size_t leg : {0, 1}) {
      if (body == bodies_[leg + 1]) touches_[leg] = begins;
    }
  }
}

// Applies a slowly changing, non-repeating wind force and torque while no leg touches the ground.
void LanderWorld::blow() {
  if (!options_.enable_wind || touches_[0] || touches_[1]) return;
  const auto strength = [](double& phase) {
    const double now = phase++;
    return std::tanh(std::sin(0.02 * now) + std::sin(std::numbers::pi * 0.01 * now));
  };
  bodies_[0]->ApplyForceToCenter(vec(strength(wind_phase_) * options_.wind_power, 0), true);
  bodies_[0]->ApplyTorque(
      static_cast<float>(strength(turbulence_phase_) * options_.turbulence_power), true);
}

void LanderWorld::step(std::span<const double> engines) {
  blow();
  const double main = std::clamp(engines[0], -1.0, 1.0);
  const double side = std::clamp(engines[1], -1.0, 1.0);
  b2Body& hull = *bodies_[0];
  const double sine = std::sin(hull.GetAngle()), cosine = std::cos(hull.GetAngle());
  const b2Vec2 at = hull.GetPosition();
  // As in Gymnasium, these numbers are drawn in every step, even if the engines are off.
  const double along = rng_.uniform(-1, 1) / kScale;
  const double across = rng_.uniform(-1, 1) / kScale;

  main_power_ = main > 0 ? 0.5 + 0.5 * main : 0;
  if (main_power_ > 0) {
    const double reach = kMainEngineDown + 2 * along;
    const double x = sine * reach - cosine * across;
    const double y = -cosine * reach - sine * across;
    const double push = kMainPower * main_power_;
    hull.ApplyLinearImpulse(vec(-x * push, -y * push), vec(at.x + x, at.y + y), true);
  }
  side_power_ = std::abs(side) > 0.5 ? side : 0;
  if (side_power_ != 0) {
    const double reach = 3 * across + (side > 0 ? 1 : -1) * kSideEngineAway;
    const double x = sine * along - cosine * reach;
    const double y = -cosine * along - sine * reach;
    const double push = kSidePower * std::abs(side_power_);
    hull.ApplyLinearImpulse(vec(-x * push, -y * push),
                            vec(at.x + x - sine * 17 / kScale, at.y + y + cosine * kSideEngineUp),
                            true);
  }
  world_.Step(static_cast<float>(1 / kLanderFrames), 180, 60);
}

BodyPose LanderWorld::pose(int body) const {
  const b2Body& b = *bodies_[static_cast<size_t>(body)];
  return {b.GetPosition().x,       b.GetPosition().y,       b.GetAngle(),
          b.GetLinearVelocity().x, b.GetLinearVelocity().y, b.GetAngularVelocity()};
}

}  // namespace rl_training
