#pragma once
#include <cairo.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rl_training/render/frame.h"

namespace rl_training {

// An image in memory with anti-aliased drawing functions.
class Picture {
 public:
  Picture(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }

  // Draws a frame into the rectangle whose top left corner is (x, y), with the caption above the
  // scene or photo.
  void draw(const Frame& frame, int x, int y, int width, int height);

  // Red, green and blue of every pixel, row by row, as three planes.
  struct Planes {
    std::vector<uint8_t> red, green, blue;
  };
  Planes planes() const;
  std::string png() const;

 private:
  void draw_photo(const Photo& photo, int x, int y);
  void draw_scene(const Scene& scene, double x, double y, double width, double height);

  struct Release {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* context) const { cairo_destroy(context); }
  };
  int width_, height_;
  std::unique_ptr<cairo_surface_t, Release> surface_;
  std::unique_ptr<cairo_t, Release> context_;
};

// The height in pixels of a frame of this width: the caption and the undistorted scene.
int frame_height(const Scene& scene, int width);

}  // namespace rl_training
