#include "rl_training/experiment/checkpoint_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "rl_training/experiment/checked_json.h"
#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

constexpr int64_t kFormatVersion = 1;
constexpr uint64_t kMaxManifestBytes = 1 << 20;
constexpr size_t kMaxManifestDepth = 32;
constexpr size_t kMaxManifestKeys = 10000;
constexpr char kTensorsFile[] = "tensors.safetensors";
constexpr char kManifestFile[] = "manifest.json";
constexpr char kBest[] = "best";
constexpr std::string_view kTemporary = ".tmp-";
// A directory has this name while its successor replaces it. rename() cannot swap two directories,
// so for a moment this is the only copy; readers also look here.
constexpr std::string_view kSetAside = ".old-";
// The last member of the manifest: the hash of every byte before it.
constexpr std::string_view kTrailerHead = "\"sha256\": \"";
constexpr std::string_view kTrailerTail = "\"\n}\n";
constexpr size_t kTrailerBytes = kTrailerHead.size() + 64 + kTrailerTail.size();

std::string step_name(int64_t step) { return fmt::format("step-{:09}", step); }

std::optional<int64_t> parse_step(std::string_view name) {
  if (!name.starts_with("step-") || name.size() < 14 || name.size() > 23) return std::nullopt;
  int64_t step = 0;
  for (const char digit : name.substr(5)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    step = step * 10 + (digit - '0');
  }
  return name == step_name(step) ? std::optional(step) : std::nullopt;
}

std::pair<std::string, std::string> split_path(const std::string& path) {
  auto whole = std::filesystem::path(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  const auto parent = whole.parent_path().string();
  return {parent.empty() ? "." : parent, whole.filename().string()};
}

[[noreturn]] void reject(const std::string& file, const std::string& key, const std::string& what) {
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

void check_trailer(std::string_view text, const std::string& file) {
  if (text.size() < kTrailerBytes) reject(file, "", "too short for a manifest");
  const auto trailer = text.substr(text.size() - kTrailerBytes);
  if (!trailer.starts_with(kTrailerHead) || !trailer.ends_with(kTrailerTail)) {
    reject(file, "", "does not end like a manifest; it was truncated or changed");
  }
  const auto stored = trailer.substr(kTrailerHead.size(), 64);
  if (stored != sha256_hex(text.substr(0, text.size() - kTrailerBytes))) {
    reject(file, "", "SHA-256 of the manifest does not match");
  }
}

Json parse_manifest(const std::string& text, const std::string& file) {
  check_trailer(text, file);
  check_json(text, file, kMaxManifestDepth, kMaxManifestKeys);
  Json manifest = Json::parse(text);
  if (!manifest.is_object()) reject(file, "", "not a JSON object");
  const Json version = manifest.value("format_version", Json());
  if (!version.is_number_integer()) reject(file, "format_version", "is missing");
  if (version != kFormatVersion) {
    reject(file, "format_version",
           fmt::format("written by another version of the program (expected {}, got {})",
                       kFormatVersion, version.dump()));
  }
  const Json step = manifest.value("step", Json());
  if (!step.is_number_unsigned() || step > INT64_MAX) reject(file, "step", "is not a step");
  return manifest;
}

bool plain_name(const std::string& name) {
  return !name.empty() && name != kManifestFile && name.front() != '.' &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

// Name, size and hash of each data file; the tensors come first.
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
      reject(file, "files", "is not a list of names, sizes and hashes");
    }
    for (const auto& other : found) {
      if (other.name == name) reject(file, "files", "names a file twice");
    }
    found.push_back({name.get<std::string>(),
                     size.get<uint64_t>(),
                     hash.get<std::string>(),
                     path + "/" + name.get<std::string>(),
                     {}});
  }
  if (found.empty() || found.front().name != kTensorsFile) {
    reject(file, "files", fmt::format("does not begin with {}", kTensorsFile));
  }
  return found;
}

// A link could point to any file, and a pipe or a device never ends.
void check_regular(const std::string& path) {
  std::error_code code;
  const auto type = std::filesystem::symlink_status(path, code).type();
  if (type == std::filesystem::file_type::not_found) reject(path, "", "is missing");
  if (type != std::filesystem::file_type::regular) reject(path, "", "not a regular file");
}

std::string read_verified(FileSystem& files, const CheckpointFile& file) {
  check_regular(file.existing);
  // Checked before reading an untrusted file.
  const uint64_t found = files.file_size(file.existing);
  if (found != file.size) {
    reject(file.existing, "", fmt::format("wrong size (expected {}, got {})", file.size, found));
  }
  std::string bytes = files.read_file(file.existing);
  if (sha256_hex(bytes) != file.sha256) reject(file.existing, "", "SHA-256 does not match");
  return bytes;
}

Checkpoint read_checkpoint(FileSystem& files, const std::string& path, const std::string& name,
                           CheckpointUse use) {
  const std::string manifest_path = path + "/" + kManifestFile;
  const std::string tensors_path = path + "/" + kTensorsFile;
  if (!files.exists(manifest_path)) reject(path, "", "not a checkpoint (no manifest.json in it)");
  check_regular(manifest_path);
  if (files.file_size(manifest_path) > kMaxManifestBytes) reject(manifest_path, "", "too large");

  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.manifest = parse_manifest(files.read_file(manifest_path), manifest_path);
  checkpoint.step = checkpoint.manifest["step"].get<int64_t>();
  const auto named_step = parse_step(name);
  if (named_step && *named_step != checkpoint.step) {
    reject(manifest_path, "step",
           fmt::format("belongs to another directory (expected {}, got {})", *named_step,
                       checkpoint.step));
  }
  auto listed = listed_files(checkpoint.manifest, path, manifest_path);
  checkpoint.entries = read_safetensors(read_verified(files, listed.front()), tensors_path);
  listed.erase(listed.begin());
  if (use == CheckpointUse::acting) return checkpoint;
  for (auto& file : listed) {
    read_verified(files, file);
    file.bytes = [&files, file] { return read_verified(files, file); };
  }
  checkpoint.files = std::move(listed);
  return checkpoint;
}

void remove_quietly(FileSystem& files, const std::string& path) {
  try {
    files.remove_all(path);
  } catch (const Error&) {  // remove_leftovers() tries again
  }
}

}  // namespace

CheckpointStore::Content::Content(int64_t step, const std::vector<ArchiveEntry>& entries,
                                  const Json& facts, const std::vector<CheckpointFile>& more)
    : tensors(write_safetensors(entries)),
      manifest(write_manifest(step, tensors, facts, more)),
      files(more) {}

CheckpointStore::CheckpointStore(FileSystem& files, std::string directory, int keep)
    : files_(files), directory_(std::move(directory)), keep_(std::max(keep, 1)) {}

std::string CheckpointStore::save(int64_t step, const std::vector<ArchiveEntry>& entries,
                                  const Json& facts, bool best,
                                  const std::vector<CheckpointFile>& more) {
  if (step < 0) throw Error(ErrorKind::internal, "a checkpoint needs a step of 0 or more");
  const auto content = std::make_shared<const Content>(step, entries, facts, more);
  // "best" is written first: a run killed in between resumes from an earlier step and writes both
  // again. In the opposite order it would resume from this step and never write "best".
  if (best) unsaved_best_ = content;
  if (unsaved_best_ != nullptr) commit(kBest, *unsaved_best_);
  unsaved_best_ = nullptr;
  commit(step_name(step), *content);
  clean_up(step);
  return path_of(step_name(step));
}

void CheckpointStore::commit(const std::string& name, const Content& content) {
  files_.make_directories(directory_);
  uint64_t needed = 2 * (content.tensors.size() + content.manifest.size());
  for (const auto& file : content.files) needed += file.existing.empty() ? file.size : 0;
  const uint64_t free = files_.free_space(directory_);
  if (free < needed) {
    throw Error(
        ErrorKind::io, {path_of(name), 0, ""},
        fmt::format("not enough disk space (expected {} free bytes, got {})", needed, free));
  }
  // "step-000001000" gives ".tmp-000001000-<pid>".
  const std::string short_name = name.starts_with("step-") ? name.substr(5) : name;
  const std::string temporary = path_of(fmt::format("{}{}-{}", kTemporary, short_name, ::getpid()));
  try {
    files_.remove_all(temporary);
    files_.make_directories(temporary);
    files_.write_file(temporary + "/" + kTensorsFile, content.tensors);
    for (const auto& file : content.files) add_file(file, temporary + "/" + file.name);
    files_.write_file(temporary + "/" + kManifestFile, content.manifest);
    files_.sync_directory(temporary);
    put_in_place(temporary, name);
  } catch (const Error&) {
    remove_quietly(files_, temporary);
    throw;
  }
}

// Not every file system has links, and an earlier checkpoint may have been moved away.
void CheckpointStore::add_file(const CheckpointFile& file, const std::string& path) {
  if (!file.existing.empty()) {
    try {
      return files_.link(file.existing, path);
    } catch (const Error&) {
    }
  }
  files_.write_file(path, file.bytes());
}

void CheckpointStore::put_in_place(const std::string& temporary, const std::string& name) {
  const std::string place = path_of(name);
  const std::string set_aside = path_of(std::string(kSetAside) + name);
  const bool replaces = files_.exists(place);
  if (replaces) {
    files_.remove_all(set_aside);
    files_.rename(place, set_aside);
  }
  try {
    files_.rename(temporary, place);
  } catch (const Error&) {
    if (replaces) files_.rename(set_aside, place);
    throw;
  }
  files_.sync_directory(directory_);
  remove_quietly(files_, set_aside);  // possibly left by an earlier failure
}

// The new checkpoint is already safe, so a failure here is not a failure to save; the next save
// tries again to remove old checkpoints.
void CheckpointStore::clean_up(int64_t step) {
  try {
    remove_temporary();
    auto older = list();
    std::erase_if(older, [&](const CheckpointInfo& info) { return info.step >= step; });
    for (size_t i = 0; i + static_cast<size_t>(keep_) <= older.size(); ++i) {
      // Renamed first, so that a partly deleted directory does not look like a damaged checkpoint.
      const std::string temporary =
          path_of(fmt::format("{}{:09}-{}-deleted", kTemporary, older[i].step, ::getpid()));
      files_.rename(older[i].path, temporary);
      files_.remove_all(temporary);
    }
  } catch (const Error&) {
  }
}

std::vector<CheckpointInfo> CheckpointStore::list() const {
  std::vector<CheckpointInfo> found;
  for (const std::string& name : files_.list_directory(directory_)) {
    if (const auto step = parse_step(name)) {
      found.push_back({path_of(name), *step});
    } else if (name.starts_with(kSetAside)) {
      const std::string original = name.substr(kSetAside.size());
      const auto old_step = parse_step(original);
      if (old_step && !files_.exists(path_of(original))) {
        found.push_back({path_of(name), *old_step});
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const CheckpointInfo& a, const CheckpointInfo& b) { return a.step < b.step; });
  return found;
}

std::optional<Checkpoint> CheckpointStore::load_newest(
    const std::function<void(const std::string&)>& warn, CheckpointUse use) const {
  const auto candidates = list();
  std::vector<std::string> damaged;
  for (auto info = candidates.rbegin(); info != candidates.rend(); ++info) {
    try {
      Checkpoint checkpoint = load_checkpoint(files_, info->path, use);
      for (const std::string& what : damaged) {
        warn(fmt::format("warning: {}; using {}", what, checkpoint.path));
      }
      return checkpoint;
    } catch (const Error& error) {
      // A checkpoint of a newer program is intact; falling back to an older one would lose its
      // work.
      if (error.place().key == "format_version") throw;
      damaged.push_back(fmt::format("{} is damaged ({})", info->path, error.what()));
    }
  }
  if (damaged.empty()) return std::nullopt;
  throw Error(ErrorKind::checkpoint, {directory_, 0, ""},
              fmt::format("no checkpoint can be used; {}", damaged.front()));
}

void CheckpointStore::remove_leftovers() {
  for (const std::string& name : files_.list_directory(directory_)) {
    if (name.starts_with(kSetAside)) {
      const std::string place = path_of(name.substr(kSetAside.size()));
      if (files_.exists(place)) {
        files_.remove_all(path_of(name));
      } else {
        files_.rename(path_of(name), place);
      }
    }
  }
  remove_temporary();
}

void CheckpointStore::remove_temporary() {
  for (const std::string& name : files_.list_directory(directory_)) {
    if (name.starts_with(kTemporary)) files_.remove_all(path_of(name));
  }
}

void save_checkpoint(FileSystem& files, const std::string& path, int64_t step,
                     const std::vector<ArchiveEntry>& entries, const Json& facts,
                     const std::vector<CheckpointFile>& more) {
  const auto [parent, name] = split_path(path);
  CheckpointStore(files, parent).commit(name, CheckpointStore::Content(step, entries, facts, more));
}

void copy_checkpoint(FileSystem& files, const Checkpoint& checkpoint, const std::string& path) {
  Json facts = checkpoint.manifest;
  for (const char* own : {"format_version", "step", "files", "sha256"}) facts.erase(own);
  save_checkpoint(files, path, checkpoint.step, checkpoint.entries, facts, checkpoint.files);
}

Checkpoint load_checkpoint(FileSystem& files, const std::string& path, CheckpointUse use) {
  const auto [parent, name] = split_path(path);
  const std::string set_aside = parent + "/" + std::string(kSetAside) + name;
  try {
    const bool moved = !files.exists(path) && files.exists(set_aside);
    return read_checkpoint(files, moved ? set_aside : path, name, use);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::checkpoint) throw;
    // Unreadable counts as damaged.
    throw Error(ErrorKind::checkpoint, error.place(), error.message());
  }
}

}  // namespace rl_training
