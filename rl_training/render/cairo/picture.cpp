#include "rl_training/render/cairo/picture.h"

#include <algorithm>
#include <cmath>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr int kCaptionHeight = 26;

void check(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error(ErrorKind::internal, std::string("cairo: ") + cairo_status_to_string(status));
}

}  // namespace

Picture::Picture(int width, int height)
    : width_(width),
      height_(height),
      surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height)),
      context_(cairo_create(surface_.get())) {
  check(cairo_status(context_.get()));
  cairo_set_source_rgb(context_.get(), 1, 1, 1);
  cairo_paint(context_.get());
}

void Picture::draw(const Frame& frame, int x, int y, int width, int height) {
  cairo_t* const context = context_.get();
  cairo_save(context);
  cairo_rectangle(context, x, y, width, height);
  cairo_clip(context);
  cairo_set_source_rgb(context, 0.98, 0.98, 0.97);
  cairo_paint(context);
  if (frame.photo.rgb.empty()) {
    draw_scene(frame.scene, x, y + kCaptionHeight, width, height - kCaptionHeight);
  } else {
    draw_photo(frame.photo, x, y + kCaptionHeight);
  }

  cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context, std::min(14.0, width / 30.0));
  cairo_set_source_rgb(context, 0.2, 0.2, 0.22);
  cairo_move_to(context, x + 10, y + 18);
  cairo_show_text(context, frame.caption.c_str());
  cairo_restore(context);
}

void Picture::draw_photo(const Photo& photo, int x, int y) {
  const Picture copy(photo.width, photo.height);
  cairo_surface_t* const surface = copy.surface_.get();
  cairo_surface_flush(surface);
  unsigned char* const bytes = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  const uint8_t* from = photo.rgb.data();
  for (int row = 0; row < photo.height; ++row) {
    auto* to = reinterpret_cast<uint32_t*>(bytes + row * stride);
    for (int column = 0; column < photo.width; ++column, from += 3) {
      to[column] = uint32_t{from[0]} << 16 | uint32_t{from[1]} << 8 | uint32_t{from[2]};
    }
  }
  cairo_surface_mark_dirty(surface);
  cairo_set_source_surface(context_.get(), surface, x, y);
  cairo_paint(context_.get());
  check(cairo_status(context_.get()));
}

void Picture::draw_scene(const Scene& scene, double x, double y, double width, double height) {
  cairo_t* const context = context_.get();
  cairo_save(context);
  cairo_rectangle(context, x, y, width, height);
  cairo_clip(context);
  const double wide = scene.high.x - scene.low.x, tall = scene.high.y - scene.low.y;
  const double scale = std::min(width / wide, height / tall);
  cairo_translate(context, x + width / 2, y + height / 2);
  cairo_scale(context, scale, -scale);
  cairo_translate(context, -(scene.low.x + wide / 2), -(scene.low.y + tall / 2));
  cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND);
  cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND);
  for (const Shape& shape : scene.shapes) {
    if (shape.points.empty()) continue;
    const Color& color = shape.color;
    cairo_set_source_rgb(context, color.red, color.green, color.blue);
    cairo_move_to(context, shape.points.front().x, shape.points.front().y);
    for (const Point& point : shape.points) cairo_line_to(context, point.x, point.y);
    if (shape.width > 0) {
      cairo_set_line_width(context, shape.width);
      cairo_stroke(context);
    } else {
      cairo_close_path(context);
      cairo_fill(context);
    }
  }
  cairo_restore(context);
  check(cairo_status(context));
}

Picture::Planes Picture::planes() const {
  cairo_surface_flush(surface_.get());
  const uint8_t* const bytes = cairo_image_surface_get_data(surface_.get());
  const int stride = cairo_image_surface_get_stride(surface_.get());
  Planes planes;
  for (int row = 0; row < height_; ++row) {
    const auto* pixels = reinterpret_cast<const uint32_t*>(bytes + row * stride);
    for (int column = 0; column < width_; ++column) {
      planes.red.push_back(static_cast<uint8_t>(pixels[column] >> 16));
      planes.green.push_back(static_cast<uint8_t>(pixels[column] >> 8));
      planes.blue.push_back(static_cast<uint8_t>(pixels[column]));
    }
  }
  return planes;
}

std::string Picture::png() const {
  std::string bytes;
  const auto append = [](void* to, const unsigned char* data, unsigned int size) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), size);
    return CAIRO_STATUS_SUCCESS;
  };
  check(cairo_surface_write_to_png_stream(surface_.get(), append, &bytes));
  return bytes;
}

int frame_height(const Scene& scene, int width) {
  return kCaptionHeight + scene_height(scene, width);
}

std::string encode_png(const std::vector<Frame>& frames, int width) {
  constexpr int kColumns = 4, kGap = 4;
  const int count = static_cast<int>(frames.size());
  const int columns = std::min(count, kColumns), rows = (count + columns - 1) / columns;
  const int height = frame_height(frames.front().scene, width);
  Picture picture(columns * (width + kGap) - kGap, rows * (height + kGap) - kGap);
  for (int i = 0; i < count; ++i) {
    picture.draw(frames[static_cast<size_t>(i)], i % columns * (width + kGap),
                 i / columns * (height + kGap), width, height);
  }
  return picture.png();
}

}  // namespace rl_training
