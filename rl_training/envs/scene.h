#pragma once
#include <cstdint>
#include <vector>

namespace rl_training {

struct Point {
  double x = 0, y = 0;
};

struct Color {
  double red = 0, green = 0, blue = 0;  // 0 to 1
};

// If `width` is positive: a line with round ends through the points, or a disc of that diameter if
// there is only one point. If `width` is 0: a filled polygon.
struct Shape {
  std::vector<Point> points;
  Color color;
  double width = 0;
};

// A drawing of the current state of a task, in the task's own units.
struct Scene {
  Point low, high;            // corners of the visible area
  std::vector<Shape> shapes;  // back to front
};

// Pixels from the task's own renderer: red, green and blue of each pixel, top row first. Empty if
// the task has no renderer.
struct Photo {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

}  // namespace rl_training
