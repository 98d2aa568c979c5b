#pragma once
#include <cstdint>
#include <span>

#include "rl_training/envs/scene.h"

namespace rl_training {

// Draws a scene with anti-aliasing, undistorted and centred, into three planes (red, green, blue)
// of size x size pixels, top row first. The code uses no drawing library, so the pixels are the
// same on every machine.
void paint_scene(const Scene& scene, int64_t size, std::span<uint8_t> planes);

// Copies a photo, which stores the three colours of a pixel together, into three planes.
void paint_photo(const Photo& photo, std::span<uint8_t> planes);

}  // namespace rl_training
