#include <gif_lib.h>

#include <array>
#include <utility>

#include "rl_training/render/cairo/picture.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr int kFrameTime = 4;   // duration of a frame in hundredths of a second
constexpr int kLastTime = 100;  // duration of the last frame in hundredths of a second
constexpr int kColors = 256;

void check(int result, const GifFileType* gif) {
  if (result != GIF_ERROR) return;
  const char* const reason = GifErrorString(gif->Error);
  throw Error(ErrorKind::internal, std::string("GIF: ") + (reason ? reason : "unknown problem"));
}

// A frame in at most 256 colours.
struct IndexedFrame {
  std::vector<GifByteType> pixels;
  std::array<GifColorType, kColors> colors{};
};

IndexedFrame index_colors(const Picture& picture) {
  auto planes = picture.planes();
  IndexedFrame frame;
  frame.pixels.resize(planes.red.size());
  int count = kColors;
  if (GifQuantizeBuffer(static_cast<unsigned>(picture.width()),
                        static_cast<unsigned>(picture.height()), &count, planes.red.data(),
                        planes.green.data(), planes.blue.data(), frame.pixels.data(),
                        frame.colors.data()) == GIF_ERROR) {
    throw Error(ErrorKind::internal, "GIF: the colours cannot be reduced");
  }
  return frame;
}

class GifWriter {
 public:
  GifWriter(int width, int height) : width_(width), height_(height) {
    int problem = 0;
    gif_ = EGifOpen(&bytes_, append, &problem);
    if (gif_ == nullptr) throw Error(ErrorKind::internal, "GIF: cannot start");
    EGifSetGifVersion(gif_, true);
    check(EGifPutScreenDesc(gif_, width, height, 8, 0, nullptr), gif_);
    // Repeats the animation forever, by means of the extension that browsers support.
    const std::array<GifByteType, 3> loop = {1, 0, 0};
    check(EGifPutExtensionLeader(gif_, APPLICATION_EXT_FUNC_CODE), gif_);
    check(EGifPutExtensionBlock(gif_, 11, "NETSCAPE2.0"), gif_);
    check(EGifPutExtensionBlock(gif_, static_cast<int>(loop.size()), loop.data()), gif_);
    check(EGifPutExtensionTrailer(gif_), gif_);
  }
  ~GifWriter() {
    if (gif_ != nullptr) EGifCloseFile(gif_, nullptr);
  }
  GifWriter(const GifWriter&) = delete;
  GifWriter& operator=(const GifWriter&) = delete;

  void add(const Picture& picture, int hundredths) {
    IndexedFrame frame = index_colors(picture);
    GraphicsControlBlock control{DISPOSE_DO_NOT, false, hundredths, NO_TRANSPARENT_COLOR};
    std::array<GifByteType, 4> packed{};
    EGifGCBToExtension(&control, packed.data());
    check(EGifPutExtension(gif_, GRAPHICS_EXT_FUNC_CODE, static_cast<int>(packed.size()),
                           packed.data()),
          gif_);
    ColorMapObject* const map = GifMakeMapObject(kColors, frame.colors.data());
    const int result = EGifPutImageDesc(gif_, 0, 0, width_, height_, false, map);
    GifFreeMapObject(map);
    check(result, gif_);
    for (int row = 0; row < height_; ++row) {
      check(EGifPutLine(gif_, frame.pixels.data() + static_cast<ptrdiff_t>(row) * width_, width_),
            gif_);
    }
  }

  std::string finish() {
    int problem = 0;
    GifFileType* const gif = std::exchange(gif_, nullptr);
    if (EGifCloseFile(gif, &problem) == GIF_ERROR) {
      throw Error(ErrorKind::internal, "GIF: cannot finish");
    }
    return std::move(bytes_);
  }

 private:
  static int append(GifFileType* gif, const GifByteType* data, int size) {
    static_cast<std::string*>(gif->UserData)
        ->append(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
    return size;
  }

  int width_, height_;
  std::string bytes_;
  GifFileType* gif_ = nullptr;
};

}  // namespace

std::string encode_gif(const std::vector<Frame>& frames, int width) {
  const int height = frame_height(frames.front().scene, width);
  GifWriter writer(width, height);
  Picture picture(width, height);
  for (const Frame& frame : frames) {
    picture.draw(frame, 0, 0, width, height);
    writer.add(picture, &frame == &frames.back() ? kLastTime : kFrameTime);
  }
  return writer.finish();
}

}  // namespace rl_training
