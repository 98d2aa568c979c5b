#pragma once
#include <string>
#include <vector>

#include "rl_training/envs/scene.h"

namespace rl_training {

struct Frame {
  Scene scene;
  Photo photo;  // drawn instead of the scene if the photo is not empty
  std::string caption;
};

// The height in pixels of an undistorted scene that is `width` pixels wide.
int scene_height(const Scene& scene, int width);

// Both functions return the bytes of a file. All frames are `width` pixels wide and have the height
// of the first frame.
std::string encode_gif(const std::vector<Frame>& frames, int width);
// Arranges the frames in rows of at most four.
std::string encode_png(const std::vector<Frame>& frames, int width);

}  // namespace rl_training
