#include "rl_training/experiment/checkpoint_manifest.h"

#include <fmt/format.h>

#include <string_view>

#include "rl_training/experiment/checked_json.h"
#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

constexpr int64_t kFormatVersion = 2;
constexpr size_t kMaxManifestDepth = 32;
constexpr size_t kMaxManifestKeys = 10000;
// The last member of the manifest is the SHA-256 of all bytes before it.
constexpr std::string_view kTrailerHead = "\"sha256\": \"";
constexpr std::string_view kTrailerTail = "\"\n}\n";
constexpr size_t kTrailerBytes = kTrailerHead.size() + 64 + kTrailerTail.size();

void check_trailer(std::string_view text, const std::string& file) {
  if (text.size() < kTrailerBytes) reject_checkpoint(file, "", "too short for a manifest");
  const auto trailer = text.substr(text.size() - kTrailerBytes);
  if (!trailer.starts_with(kTrailerHead) || !trailer.ends_with(kTrailerTail)) {
    reject_checkpoint(file, "", "does not end like a manifest; it was truncated or changed");
  }
  const auto stored = trailer.substr(kTrailerHead.size(), 64);
  if (stored != sha256_hex(text.substr(0, text.size() - kTrailerBytes))) {
    reject_checkpoint(file, "", "SHA-256 of the manifest does not match");
  }
}

bool plain_name(const std::string& name) {
  return !name.empty() && name != kManifestFile && name.front() != '.' &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

}  // namespace

void reject_checkpoint(const std::string& file, const std::string& key, const std::string& what) {
  throw Error(ErrorKind::checkpoint, {file, 0, key}, what);
}

std::string write_manifest(int64_t step, const std::string& tensors, const Json& facts,
                           const std::vector<CheckpointFile>& more) {
  Json manifest;
  manifest["format_version"] = kFormatVersion;
  manifest["step"] = step;
  manifest["files"] = Json::array(
      {{{"name", kTensorsFile}, {"size", tensors.size()}, {"sha256", sha256_hex(tensors)}}});
  for (const auto& file : more) {
    manifest["files"].push_back(
        {{"name", file.name}, {"size", file.size}, {"sha256", file.sha256}});
  }
  for (const auto& [key, value] : facts.items()) {
    if (manifest.contains(key) || key == "sha256") {
      throw Error(ErrorKind::internal, {kManifestFile, 0, key},
                  "the manifest already has this key");
    }
    manifest[key] = value;
  }
  std::string text = manifest.dump(2, ' ', false, Json::error_handler_t::replace);
  text.resize(text.size() - 2);  // the trailer contains the closing "\n}"
  text += ",\n  ";
  text += fmt::format("{}{}{}", kTrailerHead, sha256_hex(text), kTrailerTail);
  if (text.size() > kMaxManifestBytes) {
    throw Error(ErrorKind::internal, {kManifestFile, 0, ""}, "the manifest would be too long");
  }
  return text;
}

Json parse_manifest(const std::string& text, const std::string& file) {
  check_trailer(text, file);
  check_json(text, file, kMaxManifestDepth, kMaxManifestKeys);
  Json manifest = Json::parse(text);
  if (!manifest.is_object()) reject_checkpoint(file, "", "not a JSON object");
  const Json version = manifest.value("format_version", Json());
  if (!version.is_number_integer()) reject_checkpoint(file, "format_version", "is missing");
  if (version != kFormatVersion) {
    reject_checkpoint(
        file, "format_version",
        fmt::format("written by {} (expected {}, got {})",
                    version == 1 ? "version 0.1 of the program, whose runs cannot be loaded"
                                 : "another version of the program",
                    kFormatVersion, version.dump()));
  }
  const Json step = manifest.value("step", Json());
  if (!step.is_number_unsigned() || step > INT64_MAX)
    reject_checkpoint(file, "step", "is not a step");
  return manifest;
}

std::vector<CheckpointFile> listed_files(const Json& manifest, const std::string& path,
                                         const std::string& file) {
  std::vector<CheckpointFile> found;
  const Json list = manifest.value("files", Json());
  for (const Json& item : list.is_array() ? list : Json::array()) {
    const Json entry = item.is_object() ? item : Json::object();
    const Json name = entry.value("name", Json());
    const Json size = entry.value("size", Json());
    const Json hash = entry.value("sha256", Json());
    if (!name.is_string() || !size.is_number_unsigned() || !hash.is_string() ||
        !plain_name(name.get<std::string>())) {
      reject_checkpoint(file, "files", "is not a list of names, sizes and hashes");
    }
    for (const auto& other : found) {
      if (other.name == name) reject_checkpoint(file, "files", "names a file twice");
    }
    found.push_back({name.get<std::string>(),
                     size.get<uint64_t>(),
                     hash.get<std::string>(),
                     path + "/" + name.get<std::string>(),
                     {}});
  }
  if (found.empty() || found.front().name != kTensorsFile) {
    reject_checkpoint(file, "files", fmt::format("does not begin with {}", kTensorsFile));
  }
  return found;
}

}  // namespace rl_training
