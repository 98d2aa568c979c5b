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

// With a width: a line with round ends through the points; a single point gives a disc of that
// diameter. Without: a filled polygon.
struct Shape {
  std::vector<Point> points;
  Color color;
  double width = 0;
};

// A drawing of the current state of a task in its own units.
struct Scene {
  Point low, high;            // corners of the visible area
  std::vector<Shape> shapes;  // back to front
};

// Pixels from the task's own renderer: red, green, blue, the top row first. Empty if there are
// none.
struct Photo {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

}  // namespace rl_training
