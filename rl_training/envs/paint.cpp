#include "rl_training/envs/paint.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rl_training {
namespace {

constexpr Color kBackground = {0.98, 0.98, 0.97};

uint8_t to_byte(double value) {
  return static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

double distance_to_segment(const Point& p, const Point& a, const Point& b) {
  const double along_x = b.x - a.x, along_y = b.y - a.y;
  const double squared = along_x * along_x + along_y * along_y;
  const double dot = (p.x - a.x) * along_x + (p.y - a.y) * along_y;
  const double share = squared > 0 ? std::clamp(dot / squared, 0.0, 1.0) : 0.0;
  return std::hypot(p.x - a.x - share * along_x, p.y - a.y - share * along_y);
}

// Distance to the polyline through all points. A single point is a segment of length 0.
double distance_to_line(const Point& p, const std::vector<Point>& points, bool closed) {
  const size_t count = points.size();
  double least = closed || count == 1 ? distance_to_segment(p, points.back(), points.front())
                                      : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i + 1 < count; ++i) {
    least = std::min(least, distance_to_segment(p, points[i], points[i + 1]));
  }
  return least;
}

bool is_inside(const Point& p, const std::vector<Point>& polygon) {
  bool inside = false;
  for (size_t i = 0, j = polygon.size() - 1; i < polygon.size(); j = i++) {
    const Point &a = polygon[i], &b = polygon[j];
    if ((a.y > p.y) == (b.y > p.y)) continue;
    if (p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

// Estimates the share of the pixel around `p` that a shape covers. Considers only the line from `p`
// to the nearest point of the shape's outline: returns the overlap of the shape with an interval of
// one pixel around `p` on that line.
double coverage(const Point& p, const std::vector<Point>& points, double half_width) {
  if (half_width > 0) {
    const double distance = distance_to_line(p, points, false);
    return std::clamp(std::min(distance + 0.5, half_width) - std::max(distance - 0.5, -half_width),
                      0.0, 1.0);
  }
  const double distance = distance_to_line(p, points, true);
  return std::clamp(0.5 + (is_inside(p, points) ? distance : -distance), 0.0, 1.0);
}

// The pixels [from, to) that a shape with coordinates from `low` to `high` can touch.
struct Extent {
  int64_t from, to;

  Extent(double low, double high, int64_t size)
      : from(static_cast<int64_t>(std::clamp(std::floor(low), 0.0, static_cast<double>(size)))),
        to(static_cast<int64_t>(std::clamp(std::ceil(high), 0.0, static_cast<double>(size)))) {}
};

void paint_shape(const std::vector<Point>& points, const Color& color, double half_width,
                 int64_t size, std::span<uint8_t> planes) {
  const auto by_x = [](const Point& a, const Point& b) { return a.x < b.x; };
  const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
  const auto [left, right] = std::minmax_element(points.begin(), points.end(), by_x);
  const auto [top, bottom] = std::minmax_element(points.begin(), points.end(), by_y);
  const double margin = half_width + 1;
  const Extent columns(left->x - margin, right->x + margin, size);
  const Extent rows(top->y - margin, bottom->y + margin, size);
  const double channels[] = {255 * color.red, 255 * color.green, 255 * color.blue};
  for (int64_t row = rows.from; row < rows.to; ++row) {
    for (int64_t column = columns.from; column < columns.to; ++column) {
      const Point middle = {static_cast<double>(column) + 0.5, static_cast<double>(row) + 0.5};
      const double covered = coverage(middle, points, half_width);
      if (covered == 0) continue;
      for (int64_t channel = 0; channel < 3; ++channel) {
        uint8_t& pixel = planes[static_cast<size_t>((channel * size + row) * size + column)];
        pixel = static_cast<uint8_t>(std::lround(pixel + covered * (channels[channel] - pixel)));
      }
    }
  }
}

}  // namespace

void paint_scene(const Scene& scene, int64_t size, std::span<uint8_t> planes) {
  const auto plane = static_cast<size_t>(size * size);
  std::fill_n(planes.begin(), plane, to_byte(kBackground.red));
  std::fill_n(planes.begin() + static_cast<int64_t>(plane), plane, to_byte(kBackground.green));
  std::fill_n(planes.begin() + 2 * static_cast<int64_t>(plane), plane, to_byte(kBackground.blue));
  const double wide = scene.high.x - scene.low.x, tall = scene.high.y - scene.low.y;
  const auto pixels = static_cast<double>(size);
  const double scale = pixels / std::max(wide, tall);
  std::vector<Point> points;
  for (const Shape& shape : scene.shapes) {
    if (shape.points.empty()) continue;
    points.clear();
    for (const Point& point : shape.points) {
      points.push_back({pixels / 2 + scale * (point.x - (scene.low.x + wide / 2)),
                        pixels / 2 - scale * (point.y - (scene.low.y + tall / 2))});
    }
    paint_shape(points, shape.color, scale * shape.width / 2, size, planes);
  }
}

void paint_photo(const Photo& photo, std::span<uint8_t> planes) {
  const size_t plane = planes.size() / 3;
  for (size_t pixel = 0; pixel < plane; ++pixel) {
    for (size_t channel = 0; channel < 3; ++channel) {
      planes[channel * plane + pixel] = photo.rgb[3 * pixel + channel];
    }
  }
}

}  // namespace rl_training
