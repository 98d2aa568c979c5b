// The tasks of D4RL's datasets have the masses that MuJoCo before 2.1.2 computed. The expected
// masses are those that mujoco-py prints for Gym's models.
#if __has_include(<mujoco/mujoco.h>)
#include <gtest/gtest.h>

#include <numbers>
#include <vector>

#include "rl_training/envs/mujoco/mujoco_task.h"

namespace rl_training {
namespace {

struct Expected {
  const char* id;
  std::vector<double> masses;  // of all bodies but the world, in kg
};

const std::vector<Expected>& tasks() {
  static const std::vector<Expected> all = {
      {"Hopper-v2", {3.53429174, 3.92699082, 2.71433605, 5.0893801}},
      {"Walker2d-v2",
       {3.53429174, 3.92699082, 2.71433605, 2.94053072, 3.92699082, 2.71433605, 2.94053072}},
      {"HalfCheetah-v2",
       {6.36031332, 1.53524804, 1.58093995, 1.0691906, 1.42558747, 1.17885117, 0.84986945}},
      {"Ant-v2",
       {0.32724923, 0.03647693, 0.03647693, 0.06491138, 0.03647693, 0.03647693, 0.06491138,
        0.03647693, 0.03647693, 0.06491138, 0.03647693, 0.03647693, 0.06491138}}};
  return all;
}

TEST(OldMasses, MassesAreThoseOfMujocoPy) {
  for (const Expected& expected : tasks()) {
    SCOPED_TRACE(expected.id);
    const MujocoTask* task = find_mujoco_task(expected.id);
    ASSERT_NE(task, nullptr);
    const auto model = load_mujoco_model(*task);
    ASSERT_EQ(static_cast<size_t>(model->nbody), expected.masses.size() + 1);
    double sum = 0;
    for (size_t i = 0; i < expected.masses.size(); ++i) {
      EXPECT_NEAR(model->body_mass[i + 1], expected.masses[i], 1e-8) << i;
      sum += model->body_mass[i + 1];
    }
    // MuJoCo derives further values from the masses, among them those of subtrees.
    EXPECT_NEAR(model->body_subtreemass[0], sum, 1e-12);
  }
}

// Hopper's torso: a cylinder with radius 0.05 and length 0.45.
TEST(OldMasses, InertiaIsThatOfACylinder) {
  const auto model = load_mujoco_model(*find_mujoco_task("Hopper-v2"));
  const double mass = 1000 * std::numbers::pi * 0.05 * 0.05 * 0.45;
  const double across = mass * (3 * 0.05 * 0.05 + 0.45 * 0.45) / 12;
  std::vector<double> inertia(model->body_inertia + 3, model->body_inertia + 6);
  EXPECT_NEAR(inertia[0], across, 1e-12);
  EXPECT_NEAR(inertia[1], across, 1e-12);
  EXPECT_NEAR(inertia[2], mass * 0.05 * 0.05 / 2, 1e-12);
}

}  // namespace
}  // namespace rl_training
#endif
