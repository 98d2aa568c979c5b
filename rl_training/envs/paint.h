#pragma once
#include <cstdint>
#include <span>

#include "rl_training/envs/scene.h"

namespace rl_training {

// Draws a scene with anti-aliasing, undistorted and centred, into three planes (red, green, blue)
// of size x size pixels, the top row first. It needs no drawing library, so the pixels are the same
// on every machine.
void paint_scene(const Scene& scene, int64_t size, std::span<uint8_t> planes);

// The same for a photograph, which stores the colours of a pixel together.
void paint_photo(const Photo& photo, std::span<uint8_t> planes);

}  // namespace rl_training
