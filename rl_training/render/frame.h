#pragma once
#include <string>
#include <vector>

#include "rl_training/envs/scene.h"

namespace rl_training {

struct Frame {
  Scene scene;
  Photo photo;  // drawn in place of the scene if there is one
  std::string caption;
};

// The height of a scene that is `width` pixels wide and undistorted.
int scene_height(const Scene& scene, int width);

// The bytes of a file. All frames are `width` pixels wide and as high as the first one's scene
// asks.
std::string encode_gif(const std::vector<Frame>& frames, int width);
// Frames in rows of at most four.
std::string encode_png(const std::vector<Frame>& frames, int width);

}  // namespace rl_training
