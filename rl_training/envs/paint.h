#pragma once
#include <cstdint>
#include <span>

#include "rl_training/envs/scene.h"

namespace rl_training {

// Paints a scene with smooth edges, undistorted and centred, into three planes (red, green, blue)
// of size x size pixels, the top row first. It needs no drawing library, so that what an agent sees
// is the same wherever it is trained.
void paint_scene(const Scene& scene, int64_t size, std::span<uint8_t> planes);

// The same pixels of a photograph, which has them side by side.
void paint_photo(const Photo& photo, std::span<uint8_t> planes);

}  // namespace rl_training
