#include "rl_training/envs/mujoco/old_masses.h"

#include <array>
#include <memory>
#include <numbers>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

using Matrix = std::array<mjtNum, 9>;

// One shape of a body: its mass, its centre, and its inertia about the centre, in the body's frame.
struct Part {
  double mass;
  std::array<mjtNum, 3> center;
  Matrix inertia;
};

Part part_of(const mjModel& model, int geom, double density) {
  const mjtNum* const center = model.geom_pos + ptrdiff_t{3} * geom;
  const mjtNum* const size = model.geom_size + ptrdiff_t{3} * geom;  // radius, half length
  const double radius = size[0];
  Part part = {0, {center[0], center[1], center[2]}, {}};
  if (model.geom_type[geom] == mjGEOM_SPHERE) {
    part.mass = density * 4 / 3 * std::numbers::pi * radius * radius * radius;
    const double inertia = 0.4 * part.mass * radius * radius;
    part.inertia = {inertia, 0, 0, 0, inertia, 0, 0, 0, inertia};
    return part;
  }
  if (model.geom_type[geom] != mjGEOM_CAPSULE) {
    throw Error(ErrorKind::internal, "MuJoCo: a moving shape is not a capsule or a sphere");
  }
  const double length = 2 * size[1] + radius;
  part.mass = density * std::numbers::pi * radius * radius * length;
  const double across = part.mass * (3 * radius * radius + length * length) / 12;
  const double along = part.mass * radius * radius / 2;
  Matrix axes, turned;
  mju_quat2Mat(axes.data(), model.geom_quat + ptrdiff_t{4} * geom);
  const Matrix own = {across, 0, 0, 0, across, 0, 0, 0, along};
  mju_mulMatMat(turned.data(), axes.data(), own.data(), 3, 3, 3);
  mju_mulMatMatT(part.inertia.data(), turned.data(), axes.data(), 3, 3, 3);
  return part;
}

// Combines the shapes of one body: the sum of the masses, and the inertia about their common centre
// by the parallel axis theorem.
void set_body(mjModel& model, int body, double density) {
  const int first = model.body_geomadr[body], end = first + model.body_geomnum[body];
  double mass = 0;
  std::array<mjtNum, 3> center = {};
  for (int geom = first; geom < end; ++geom) {
    const Part part = part_of(model, geom, density);
    mass += part.mass;
    mju_addToScl3(center.data(), part.center.data(), part.mass);
  }
  mju_scl3(center.data(), center.data(), 1 / mass);

  Matrix inertia = {};
  for (int geom = first; geom < end; ++geom) {
    const Part part = part_of(model, geom, density);
    std::array<mjtNum, 3> offset;
    mju_sub3(offset.data(), part.center.data(), center.data());
    const double squared = mju_dot3(offset.data(), offset.data());
    for (size_t row = 0; row < 3; ++row) {
      for (size_t column = 0; column < 3; ++column) {
        inertia[3 * row + column] += part.inertia[3 * row + column] -
                                     part.mass * offset[row] * offset[column] +
                                     (row == column ? part.mass * squared : 0);
      }
    }
  }
  Matrix axes;
  model.body_mass[body] = mass;
  mju_copy3(model.body_ipos + ptrdiff_t{3} * body, center.data());
  mju_eig3(model.body_inertia + ptrdiff_t{3} * body, axes.data(),
           model.body_iquat + ptrdiff_t{4} * body, inertia.data());
}

}  // namespace

void use_old_masses(mjModel& model, const OldMasses& masses) {
  for (int body = 1; body < model.nbody; ++body) set_body(model, body, masses.density);
  if (masses.total > 0) mj_setTotalmass(&model, masses.total);
  const std::unique_ptr<mjData, decltype(&mj_deleteData)> data(mj_makeData(&model), mj_deleteData);
  if (!data) throw Error(ErrorKind::internal, "MuJoCo: no memory for the simulation");
  mj_setConst(&model, data.get());
}

}  // namespace rl_training
