#include "rl_training/envs/mujoco/offscreen.h"

#include <dlfcn.h>

#include <cmath>
#include <numbers>

namespace rl_training {
namespace {

// The functions of Mesa's off-screen interface (GL/osmesa.h) that are used here.
struct Mesa {
  void* (*create)(unsigned format, int depth_bits, int stencil_bits, int accumulation_bits,
                  void* shared) = nullptr;
  unsigned char (*make_current)(void* context, void* buffer, unsigned type, int width,
                                int height) = nullptr;
  void (*destroy)(void* context) = nullptr;
};
constexpr unsigned kRgba = 0x1908, kUnsignedByte = 0x1401;  // GL_RGBA, GL_UNSIGNED_BYTE

// Loads the library, which then stays loaded until the process exits. Its symbols are global
// because MuJoCo looks up OpenGL functions among the global symbols.
const Mesa& mesa() {
  static const Mesa found = [] {
    Mesa result;
    void* const library = dlopen("libOSMesa.so.8", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return result;
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    find(result.create, "OSMesaCreateContextExt");
    find(result.make_current, "OSMesaMakeCurrent");
    find(result.destroy, "OSMesaDestroyContext");
    if (result.make_current == nullptr || result.destroy == nullptr) result.create = nullptr;
    return result;
  }();
  return found;
}

constexpr Color kFloor = {0.83, 0.84, 0.82};
constexpr uint8_t kSky = 250;

void set_color(mjvGeom& geom, const Color& color) {
  geom.rgba[0] = static_cast<float>(color.red);
  geom.rgba[1] = static_cast<float>(color.green);
  geom.rgba[2] = static_cast<float>(color.blue);
}

// Adds a thin bar across the track at each metre, which makes motion visible.
void add_marks(mjvScene& scene, double low, double high) {
  for (double x = std::ceil(low); x <= high && scene.ngeom < scene.maxgeom; ++x) {
    const mjtNum size[3] = {0.012, 3, 0.002}, at[3] = {x, 0, 0};
    const float color[4] = {0.68f, 0.69f, 0.67f, 1};
    mjv_initGeom(&scene.geoms[scene.ngeom++], mjGEOM_BOX, size, at, nullptr, color);
  }
}

// Places the camera in front of the visible rectangle. A camera at the side looks slightly down.
mjvCamera camera_for(const mjModel& model, const Scene& shown, bool from_above) {
  mjvCamera camera;
  mjv_defaultCamera(&camera);
  const Point middle = {(shown.low.x + shown.high.x) / 2, (shown.low.y + shown.high.y) / 2};
  camera.azimuth = 90;
  camera.elevation = from_above ? -90 : -8;
  camera.lookat[0] = middle.x;
  camera.lookat[1] = from_above ? middle.y : 0;
  camera.lookat[2] = from_above ? 0 : middle.y;
  const double half = static_cast<double>(model.vis.global.fovy) * std::numbers::pi / 360;
  camera.distance = (shown.high.y - shown.low.y) / 2 / std::tan(half);
  return camera;
}

}  // namespace

std::unique_ptr<Offscreen> Offscreen::make(const mjModel& model, int width, int height) {
  if (mesa().create == nullptr) return nullptr;
  std::unique_ptr<Offscreen> result(new Offscreen(model, width, height));
  return result->canvas_ != nullptr ? std::move(result) : nullptr;
}

Offscreen::Offscreen(const mjModel& model, int width, int height)
    : model_(model),
      width_(width),
      height_(height),
      pixels_(static_cast<size_t>(width) * static_cast<size_t>(height) * 4) {
  mjv_defaultScene(&scene_);
  mjr_defaultContext(&renderer_);
  canvas_ = mesa().create(kRgba, 24, 8, 0, nullptr);
  if (canvas_ == nullptr) return;
  if (mesa().make_current(canvas_, pixels_.data(), kUnsignedByte, width, height) == 0) {
    mesa().destroy(canvas_);
    canvas_ = nullptr;
    return;
  }
  mjv_makeScene(&model_, &scene_, 1000);
  mjModel sized = model_;  // a shallow copy, which shares the arrays of the model
  sized.vis.global.offwidth = width;
  sized.vis.global.offheight = height;
  mjr_makeContext(&sized, &renderer_, mjFONTSCALE_100);
  mjr_setBuffer(mjFB_OFFSCREEN, &renderer_);
}

Offscreen::~Offscreen() {
  if (canvas_ == nullptr) return;
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the canvas exists, so its library is loaded
  mesa().make_current(canvas_, pixels_.data(), kUnsignedByte, width_, height_);
  mjr_freeContext(&renderer_);
  mjv_freeScene(&scene_);
  mesa().destroy(canvas_);
}

Photo Offscreen::shoot(mjData& data, const MujocoView& view) {
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the canvas exists, so its library is loaded
  mesa().make_current(canvas_, pixels_.data(), kUnsignedByte, width_, height_);
  const Scene shown = mujoco_scene(model_, data, view);  // only the rectangle of the scene is used
  auto camera = camera_for(model_, shown, view.from_above);
  mjvOption option;
  mjv_defaultOption(&option);
  mjv_updateScene(&model_, &data, &option, nullptr, &camera, mjCAT_ALL, &scene_);
  for (int i = 0; i < scene_.ngeom; ++i) {
    auto& geom = scene_.geoms[i];
    if (geom.objtype != mjOBJ_GEOM) continue;
    const bool ground = geom.type == mjGEOM_PLANE;
    set_color(geom, ground ? kFloor : mujoco_body_color(model_.geom_bodyid[geom.objid]));
    geom.reflectance = 0;
  }
  if (!view.from_above) add_marks(scene_, shown.low.x - 3, shown.high.x + 3);
  for (int i = 0; i < scene_.nlight; ++i) {
    for (int c = 0; c < 3; ++c) {
      scene_.lights[i].ambient[c] = 0.45f;
      scene_.lights[i].diffuse[c] = 0.55f;
      scene_.lights[i].specular[c] = 0.15f;
    }
  }
  const mjrRect all = {0, 0, width_, height_};
  mjr_render(all, &scene_, &renderer_);

  const auto count = static_cast<size_t>(width_) * static_cast<size_t>(height_);
  std::vector<uint8_t> upward(count * 3);  // bottom row first, as MuJoCo delivers it
  std::vector<float> depth(count);
  mjr_readPixels(upward.data(), depth.data(), all, &renderer_);
  Photo photo{width_, height_, std::vector<uint8_t>(count * 3)};
  const auto row_size = static_cast<size_t>(width_);
  for (size_t row = 0; row < static_cast<size_t>(height_); ++row) {
    const size_t from = (static_cast<size_t>(height_) - 1 - row) * row_size;
    for (size_t column = 0; column < row_size; ++column) {
      const bool sky = depth[from + column] >= 1;
      for (size_t c = 0; c < 3; ++c) {
        photo.rgb[(row * row_size + column) * 3 + c] = sky ? kSky : upward[(from + column) * 3 + c];
      }
    }
  }
  return photo;
}

}  // namespace rl_training
