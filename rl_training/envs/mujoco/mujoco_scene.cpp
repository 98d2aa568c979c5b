#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "rl_training/envs/mujoco/simulation.h"

namespace rl_training {
namespace {

constexpr Color kGround = {0.86, 0.87, 0.85}, kMark = {0.72, 0.73, 0.71};
constexpr Color kBodies[] = {
    {0.86, 0.5, 0.3}, {0.3, 0.5, 0.72}, {0.9, 0.68, 0.3}, {0.36, 0.62, 0.5}, {0.66, 0.42, 0.66}};

// Projects points of the world onto the picture. nearness() is larger for points closer to the
// viewer.
struct Projection {
  bool from_above;

  Point of(const mjtNum* point) const { return {point[0], from_above ? point[1] : point[2]}; }
  double nearness(const mjtNum* point) const { return from_above ? point[2] : -point[1]; }
};

// Converts a point from a geom's own frame to world coordinates.
std::array<mjtNum, 3> world_point(const mjData& data, int geom, double x, double y, double z) {
  const mjtNum* const at = data.geom_xpos + int64_t{3} * geom;
  const mjtNum* const axes = data.geom_xmat + int64_t{9} * geom;
  std::array<mjtNum, 3> point;
  for (size_t row = 0; row < 3; ++row) {
    const mjtNum* const r = axes + 3 * row;
    point[row] = at[row] + r[0] * x + r[1] * y + r[2] * z;
  }
  return point;
}

double turn(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// Convex hull by the monotone chain algorithm.
std::vector<Point> outline(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  std::vector<Point> hull;
  const auto walk = [&](auto first, auto last) {
    const size_t fixed = hull.size() + 1;
    for (; first != last; ++first) {
      while (hull.size() > fixed && turn(hull.end()[-2], hull.back(), *first) <= 0) {
        hull.pop_back();
      }
      hull.push_back(*first);
    }
    hull.pop_back();
  };
  walk(points.begin(), points.end());
  walk(points.rbegin(), points.rend());
  return hull;
}

// Outline of the projected bounding box of a geom.
std::vector<Point> box_outline(const mjData& data, int geom, const double (&half)[3],
                               const Projection& projection) {
  std::vector<Point> corners;
  for (int i = 0; i < 8; ++i) {
    const auto sign = [i](int bit) { return (i >> bit & 1) != 0 ? 1.0 : -1.0; };
    corners.push_back(projection.of(
        world_point(data, geom, sign(0) * half[0], sign(1) * half[1], sign(2) * half[2]).data()));
  }
  return outline(corners);
}

Shape geom_shape(const mjModel& model, const mjData& data, int geom, const Projection& projection) {
  const mjtNum* const size = model.geom_size + int64_t{3} * geom;
  Shape shape;
  shape.color = mujoco_body_color(model.geom_bodyid[geom]);
  switch (model.geom_type[geom]) {
    case mjGEOM_SPHERE:
      shape.points = {projection.of(data.geom_xpos + int64_t{3} * geom)};
      shape.width = 2 * size[0];
      break;
    case mjGEOM_CAPSULE:
      for (const double end : {-size[1], size[1]}) {
        shape.points.push_back(projection.of(world_point(data, geom, 0, 0, end).data()));
      }
      shape.width = 2 * size[0];
      break;
    case mjGEOM_CYLINDER:
      // From above, an upright cylinder is a disc.
      if (projection.from_above && std::abs(data.geom_xmat[int64_t{9} * geom + 8]) > 0.9) {
        shape.points = {projection.of(data.geom_xpos + int64_t{3} * geom)};
        shape.width = 2 * size[0];
      } else {
        shape.points = box_outline(data, geom, {size[0], size[0], size[1]}, projection);
      }
      break;
    default:
      shape.points = box_outline(data, geom, {size[0], size[1], size[2]}, projection);
  }
  return shape;
}

// Adds the ground as seen from the side, with a mark at each metre that makes motion visible.
void add_ground(Scene& scene) {
  const double left = scene.low.x - 1, right = scene.high.x + 1, depth = scene.low.y - 1;
  scene.shapes.push_back({{{left, 0}, {right, 0}, {right, depth}, {left, depth}}, kGround});
  for (double x = std::ceil(left); x <= right; ++x) {
    scene.shapes.push_back({{{x, -0.05}, {x, -0.13}}, kMark, 0.03});
  }
  scene.shapes.push_back({{{left, 0}, {right, 0}}, kMark, 0.015});
}

void add_grid(Scene& scene) {
  const double step = (scene.high.x - scene.low.x) / 5;
  const double left = scene.low.x - 1, right = scene.high.x + 1;
  const double bottom = scene.low.y - 1, top = scene.high.y + 1;
  for (double x = std::ceil(left / step) * step; x <= right; x += step) {
    scene.shapes.push_back({{{x, bottom}, {x, top}}, kGround, 0.01 * step});
  }
  for (double y = std::ceil(bottom / step) * step; y <= top; y += step) {
    scene.shapes.push_back({{{left, y}, {right, y}}, kGround, 0.01 * step});
  }
}

}  // namespace

Color mujoco_body_color(int body) {
  return kBodies[static_cast<size_t>(body) % std::size(kBodies)];
}

Scene mujoco_scene(const mjModel& model, const mjData& data, const MujocoView& view) {
  const Projection projection{view.from_above};
  Scene scene{view.low, view.high, {}};
  if (view.follows) {
    const Point body = projection.of(data.xpos + 3);
    const double y = view.from_above ? body.y : 0;
    scene.low = {scene.low.x + body.x, scene.low.y + y};
    scene.high = {scene.high.x + body.x, scene.high.y + y};
  }
  const bool has_ground = std::find(model.geom_type, model.geom_type + model.ngeom, mjGEOM_PLANE) !=
                          model.geom_type + model.ngeom;
  if (view.from_above) {
    add_grid(scene);
  } else if (has_ground) {
    add_ground(scene);
  } else {  // cart tasks have no floor: draw the cart's rail
    scene.shapes.push_back({{{-1, 0}, {1, 0}}, kMark, 0.03});
  }

  std::vector<int> order(static_cast<size_t>(model.ngeom));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return projection.nearness(data.geom_xpos + int64_t{3} * a) <
           projection.nearness(data.geom_xpos + int64_t{3} * b);
  });
  for (const int geom : order) {
    if (model.geom_type[geom] == mjGEOM_PLANE) continue;
    scene.shapes.push_back(geom_shape(model, data, geom, projection));
  }
  return scene;
}

}  // namespace rl_training
