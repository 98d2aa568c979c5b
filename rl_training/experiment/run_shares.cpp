#include "rl_training/experiment/run_shares.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include "rl_training/experiment/replay_files.h"
#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"
#include "rl_training/util/json.h"

namespace rl_training {
namespace {

constexpr std::string_view kProcess = "process";

// Whether the entry must be equal in all processes. This applies to parameters and to arrays that
// depend on them. Single floats are excluded, because they are metrics, which differ between
// processes: each process has its own share of a batch.
bool is_common(const ArchiveEntry& entry) {
  return entry.dtype == DType::f32 && !entry.shape.empty() && entry.name.starts_with("algorithm.");
}

std::string common_hash(const std::vector<ArchiveEntry>& entries) {
  Sha256 hash;
  for (const auto& entry : entries) {
    if (!is_common(entry)) continue;
    hash.add(entry.name + '\0');
    hash.add(entry.bytes);
  }
  return hash.hex();
}

std::string prefix_of(int rank) { return std::string(kProcess) + std::to_string(rank) + "."; }

// Returns the rank in "process<rank>.name", or 0 if the name has no such prefix.
int owner_of(const std::string& name) {
  int rank = 0;
  if (!name.starts_with(kProcess)) return 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kProcess.size(), end, rank);
  return error == std::errc() && at != end && *at == '.' ? rank : 0;
}

bool same(const ArchiveEntry& a, const ArchiveEntry& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes;
}

}  // namespace

// Format of the message: one line of JSON, then the arrays, then the bytes of new files.
std::string pack_share(const std::vector<ArchiveEntry>& entries,
                       const std::vector<CheckpointFile>& files) {
  std::vector<ArchiveEntry> own;
  for (const auto& entry : entries) {
    if (!is_common(entry)) own.push_back(entry);
  }
  const auto tensors = write_safetensors(own);
  Json header = {
      {"parameters", common_hash(entries)}, {"tensors", tensors.size()}, {"files", Json::array()}};
  std::string new_bytes;
  for (const auto& file : files) {
    header["files"].push_back({{"name", file.name},
                               {"size", file.size},
                               {"sha256", file.sha256},
                               {"existing", file.existing}});
    if (file.existing.empty()) new_bytes += file.bytes();
  }
  return header.dump() + "\n" + tensors + new_bytes;
}

void add_share(int rank, const std::string& packed, std::vector<ArchiveEntry>& entries,
               std::vector<CheckpointFile>& files) {
  const auto line = packed.find('\n');
  const auto header = Json::parse(packed.substr(0, line));
  if (header["parameters"] != common_hash(entries)) {
    throw Error(ErrorKind::internal,
                "process " + std::to_string(rank) +
                    " no longer has the parameters of process 0 (expected the same bits in all "
                    "processes); the last checkpoint is kept");
  }
  std::map<std::string, const ArchiveEntry*> ours;
  for (const auto& entry : entries) ours[entry.name] = &entry;
  const auto tensors = header["tensors"].get<size_t>();
  size_t at = line + 1;
  std::vector<ArchiveEntry> added;
  for (auto& entry : read_safetensors(packed.substr(at, tensors), prefix_of(rank))) {
    const auto found = ours.find(entry.name);
    if (found != ours.end() && same(*found->second, entry)) continue;
    entry.name = prefix_of(rank) + entry.name;
    added.push_back(std::move(entry));
  }
  entries.insert(entries.end(), added.begin(), added.end());
  at += tensors;
  for (const auto& each : header["files"]) {
    CheckpointFile file{each["name"], each["size"], each["sha256"], each["existing"], {}};
    if (file.existing.empty()) {
      const auto bytes = std::make_shared<const std::string>(packed.substr(at, file.size));
      at += file.size;
      file.bytes = [bytes] { return *bytes; };
    } else {
      file.bytes = [path = file.existing] { return posix_file_system().read_file(path); };
    }
    files.push_back(std::move(file));
  }
}

Checkpoint share_of(const Checkpoint& checkpoint, int rank) {
  Checkpoint share = {checkpoint.path, checkpoint.step, checkpoint.manifest, {}, {}};
  std::map<std::string, ArchiveEntry> entries;
  for (const auto& entry : checkpoint.entries) {
    if (owner_of(entry.name) == 0) entries[entry.name] = entry;
  }
  for (const auto& entry : checkpoint.entries) {
    if (rank == 0 || owner_of(entry.name) != rank) continue;
    const auto name = entry.name.substr(prefix_of(rank).size());
    entries[name] = entry;
    entries[name].name = name;
  }
  for (auto& [name, entry] : entries) {
    // Only process 0 has logs.
    if (rank == 0 || !name.starts_with("metric_log.")) share.entries.push_back(std::move(entry));
  }
  for (const auto& file : checkpoint.files) {
    if (ReplayFiles::process_of(file.name) == rank) share.files.push_back(file);
  }
  return share;
}

void check_process_count(const Checkpoint& checkpoint, int processes) {
  const auto found = checkpoint.manifest.find("processes");
  const int64_t before =
      found != checkpoint.manifest.end() && found->is_number_integer() ? found->get<int64_t>() : 1;
  if (before == processes) return;
  throw Error(ErrorKind::config, {checkpoint.path, 0, "--processes"},
              "a run must be resumed with the number of processes that trained it (expected " +
                  std::to_string(before) + ", got " + std::to_string(processes) +
                  "; `train --from` starts a new run with its networks)");
}

}  // namespace rl_training
