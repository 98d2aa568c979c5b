#include "rl_training/data/file_identity.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "rl_training/data/minari.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

Json file_identity(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {{"path", path},
          {"size", static_cast<int64_t>(info.st_size)},
          {"inode", static_cast<uint64_t>(info.st_ino)},
          {"device", static_cast<uint64_t>(info.st_dev)},
          {"modified", nanoseconds(info.st_mtim)},
          {"changed", nanoseconds(info.st_ctim)}};
}

Json dataset_sources(const std::string& kind, const std::string& path) {
  std::error_code code;
  std::vector<std::string> files = {path};
  const bool directory = !fs::is_regular_file(path, code);
  if (directory || kind == "minari") {
    if ((kind != "auto" && kind != "minari") || find_minari_dataset(path).empty()) return {};
    files = {minari_data_file(path)};
    const auto metadata = fs::path(files[0]).parent_path() / "metadata.json";
    if (fs::exists(metadata, code)) files.push_back(metadata.string());
  }
  Json all = Json::array();
  for (const auto& name : files) {
    const auto full = fs::canonical(name, code);
    auto found = code ? Json() : file_identity(full.string());
    if (found.is_null()) return {};
    all.push_back(std::move(found));
  }
  return all;
}

bool are_settled(const Json& sources, int64_t milliseconds) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  for (const auto& source : sources) {
    const int64_t last =
        std::max(source.at("modified").get<int64_t>(), source.at("changed").get<int64_t>());
    // A time in whole seconds suggests a file system with a resolution of one or two seconds.
    const int64_t margin = last % kSecond == 0 ? 2 * kSecond : milliseconds * 1'000'000;
    if (milliseconds > 0 && now - last < margin) return false;
  }
  return true;
}

std::string library_file() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&library_file), &info) == 0) return "";
  const fs::path named = info.dli_fname;  // argv[0] if the code is in the program itself
  std::error_code code;
  const auto program = fs::read_symlink("/proc/self/exe", code);
  if (program.filename() == named.filename()) return program.string();
  return named.is_absolute() ? fs::canonical(named, code).string() : "";
}

std::string boot_id() {
  try {
    return posix_file_system().read_file("/proc/sys/kernel/random/boot_id");
  } catch (const Error&) {
    return "";
  }
}

}  // namespace rl_training
