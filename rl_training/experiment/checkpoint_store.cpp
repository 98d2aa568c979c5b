#include "rl_training/experiment/checkpoint_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr char kBest[] = "best";
constexpr std::string_view kTemporary = ".tmp-";
// Prefix for the name of an old directory while a new one replaces it. rename() cannot swap two
// directories, so for a moment the checkpoint exists only under the prefixed name. Readers
// therefore also look for that name.
constexpr std::string_view kSetAside = ".old-";
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

// Accepts only regular files. Other types are unsafe: a link can point to any file, and a pipe or a
// device may never end.
void check_regular(const std::string& path) {
  std::error_code code;
  const auto type = std::filesystem::symlink_status(path, code).type();
  if (type == std::filesystem::file_type::not_found) reject_checkpoint(path, "", "is missing");
  if (type != std::filesystem::file_type::regular)
    reject_checkpoint(path, "", "not a regular file");
}

std::string read_verified(FileSystem& files, const CheckpointFile& file) {
  check_regular(file.existing);
  // The size is checked before an untrusted file is read.
  const uint64_t found = files.file_size(file.existing);
  if (found != file.size) {
    reject_checkpoint(file.existing, "",
                      fmt::format("wrong size (expected {}, got {})", file.size, found));
  }
  std::string bytes = files.read_file(file.existing);
  if (sha256_hex(bytes) != file.sha256)
    reject_checkpoint(file.existing, "", "SHA-256 does not match");
  return bytes;
}

// Part of an error message about a directory that is not a checkpoint: lists the runs or
// checkpoints inside the directory.
std::string what_else(FileSystem& files, const std::string& path) {
  constexpr size_t kShown = 3;
  std::vector<std::string> inside;
  for (const std::string& name : files.list_directory(path)) {
    const std::string entry = path + "/" + name;
    if (files.exists(entry + "/checkpoints") || files.exists(entry + "/" + kManifestFile)) {
      inside.push_back(name);
    }
  }
  if (inside.empty()) return "neither a run nor a checkpoint (no manifest.json in it)";
  std::sort(inside.begin(), inside.end());
  const size_t more = inside.size() > kShown ? inside.size() - kShown : 0;
  inside.resize(inside.size() - more);
  return fmt::format("not a run or checkpoint (expected one of those in it: {}{})",
                     join(inside, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

Checkpoint read_checkpoint(FileSystem& files, const std::string& path, const std::string& name,
                           CheckpointUse use) {
  const std::string manifest_path = path + "/" + kManifestFile;
  const std::string tensors_path = path + "/" + kTensorsFile;
  if (!files.exists(manifest_path)) reject_checkpoint(path, "", what_else(files, path));
  check_regular(manifest_path);
  if (files.file_size(manifest_path) > kMaxManifestBytes)
    reject_checkpoint(manifest_path, "", "too large");

  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.manifest = parse_manifest(files.read_file(manifest_path), manifest_path);
  checkpoint.step = checkpoint.manifest["step"].get<int64_t>();
  const auto named_step = parse_step(name);
  if (named_step && *named_step != checkpoint.step) {
    reject_checkpoint(manifest_path, "step",
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
  // "best" is written first. If the run is killed between the two commits, it resumes from an
  // earlier step and writes both again. In the opposite order, it would resume from this step and
  // never write "best".
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
  // The temporary name of "step-000001000" is ".tmp-000001000-<pid>".
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

// Links to the existing file. Writes the file instead if there is none or if linking fails: not
// every file system supports hard links, and an earlier checkpoint may have been moved.
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
  remove_quietly(files_, set_aside);  // an earlier failed call may also have left it behind
}

// The new checkpoint is already safe, so a failure to remove old checkpoints is ignored. The next
// save tries again.
void CheckpointStore::clean_up(int64_t step) {
  try {
    remove_temporary();
    auto older = list();
    std::erase_if(older, [&](const CheckpointInfo& info) { return info.step >= step; });
    for (size_t i = 0; i + static_cast<size_t>(keep_) <= older.size(); ++i) {
      // The directory is renamed first, so that a partly deleted directory does not look like a
      // damaged checkpoint.
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
      // The checkpoint is not damaged but was written by another program version. Falling back to
      // an older checkpoint would lose the work since then.
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
    // An unreadable checkpoint counts as damaged.
    throw Error(ErrorKind::checkpoint, error.place(), error.message());
  }
}

}  // namespace rl_training
