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

// What a task looks like at the moment, in its own units, seen from one side.
struct Scene {
  Point low, high;            // corners of the part to show
  std::vector<Shape> shapes;  // back to front
};

// Pixels by a renderer of the task's own: red, green and blue, the top row first. Empty: none.
struct Photo {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

}  // namespace rl_training
