#include "rl_training/data/foreign_format.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace rl_training {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr const char* kTable =
    "convert it with pandas: pandas.read_parquet(file).to_csv(\"log.csv\", index=False)";
constexpr const char* kArrays =
    "load it in Python and save the arrays: numpy.savez(\"log.npz\", observations=..., "
    "actions=..., rewards=..., terminals=..., timeouts=...)";
constexpr const char* kRlds =
    "load it with tensorflow_datasets and save the steps: numpy.savez(\"log.npz\", "
    "observations=..., actions=..., rewards=..., terminals=is_terminal, timeouts=is_last and not "
    "is_terminal)";
constexpr const char* kImage =
    "encode the images to vectors and save those with the actions and rewards as npz";
constexpr const char* kBag = "export the topics to one table with a row for each step, as csv";

struct Format {
  std::string_view start;  // first bytes of the file; "" if only the name identifies the format
  std::string_view ending;
  const char* what;
  const char* advice;
};

constexpr std::array kFormats = {
    Format{"PAR1"sv, "", "a Parquet file", kTable},
    Format{"ARROW1"sv, "", "an Arrow file",
           "convert it with pandas: pandas.read_feather(file).to_csv(\"log.csv\", index=False)"},
    Format{"\x80\x02"sv, "", "a Python pickle, which could run code and is never loaded", kArrays},
    Format{"\x80\x03"sv, "", "a Python pickle, which could run code and is never loaded", kArrays},
    Format{"\x80\x04"sv, "", "a Python pickle, which could run code and is never loaded", kArrays},
    Format{"\x80\x05"sv, "", "a Python pickle, which could run code and is never loaded", kArrays},
    Format{""sv, ".pkl", "a Python pickle, which could run code and is never loaded", kArrays},
    Format{""sv, ".pickle", "a Python pickle, which could run code and is never loaded", kArrays},
    Format{""sv, ".pt", "a PyTorch file with a pickle in it, which is never loaded", kArrays},
    Format{""sv, ".pth", "a PyTorch file with a pickle in it, which is never loaded", kArrays},
    Format{"\x93NUMPY"sv, "", "one NumPy array", kArrays},
    Format{"\x89PNG"sv, "", "an image", kImage},
    Format{"\xff\xd8\xff"sv, "", "an image", kImage},
    Format{"GIF8"sv, "", "an image", kImage},
    Format{"\x89MCAP"sv, "", "an MCAP recording", kBag},
    Format{"#ROSBAG"sv, "", "a ROS bag", kBag},
    Format{"SQLite format 3"sv, "", "a SQLite database", kBag},
    Format{"MATLAB"sv, "", "a MATLAB file",
           "save the variables as csv with writematrix, or as npz"},
    Format{""sv, ".mat", "a MATLAB file", "save the variables as csv with writematrix, or as npz"},
    Format{""sv, ".xlsx", "a spreadsheet", "save it as csv"},
    Format{""sv, ".json", "JSON", "write one row for each step, as csv"},
    Format{""sv, ".jsonl", "JSON", "write one row for each step, as csv"},
    Format{""sv, ".parquet", "a Parquet file", kTable},
};

std::string text_of(const char* what, const char* advice) {
  return std::string(what) + ", which is not read (expected HDF5, npz or csv): " + advice;
}

std::string foreign_directory(const fs::path& path) {
  std::error_code code;
  if (fs::exists(path / "dataset_info.json", code) || fs::exists(path / "features.json", code)) {
    return text_of("an RLDS dataset", kRlds);
  }
  if (fs::exists(path / "meta" / "info.json", code)) return text_of("a LeRobot dataset", kTable);
  int entries = 0;
  for (const auto& entry : fs::directory_iterator(path, code)) {
    if (++entries > 1000) break;
    const auto name = entry.path().extension().string();
    if (name == ".parquet") return text_of("a directory of Parquet files", kTable);
    if (name == ".png" || name == ".jpg" || name == ".jpeg") {
      return text_of("a directory of images", kImage);
    }
  }
  return "";
}

}  // namespace

std::string foreign_format(const std::string& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) return foreign_directory(path);
  const auto name = fs::path(path).filename().string();
  if (name.find(".tfrecord") != std::string::npos) return text_of("an RLDS dataset", kRlds);
  std::ifstream file(path, std::ios::binary);
  std::string start(16, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  for (const auto& format : kFormats) {
    const bool fits = format.start.empty() ? name.ends_with(format.ending)
                                           : std::string_view(start).starts_with(format.start);
    if (fits) return text_of(format.what, format.advice);
  }
  return "";
}

}  // namespace rl_training
