#include "rl_training/experiment/warm_start.h"

#include <map>
#include <set>

#include "rl_training/experiment/state_archive.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr std::string_view kAlgorithm = "algorithm.", kNormalizer = "normalizer.";
constexpr std::string_view kTarget = "_target";

// Key: a part of the state, such as `actor`. Value: the arrays of the part by their names inside
// it. For example, "algorithm.actor.layer0.bias" is `layer0.bias` of the part `actor`. Single
// numbers belong to no part and are omitted.
using Parts = std::map<std::string, std::map<std::string, const ArchiveEntry*>>;

Parts parts_of(const std::vector<ArchiveEntry>& entries) {
  Parts parts;
  for (const auto& entry : entries) {
    std::string_view name = entry.name;
    if (name.starts_with(kAlgorithm)) {
      name.remove_prefix(kAlgorithm.size());
    } else if (!name.starts_with(kNormalizer)) {
      continue;
    }
    const auto dot = name.find('.');
    if (dot == std::string_view::npos) continue;
    parts[std::string(name.substr(0, dot))].emplace(name.substr(dot + 1), &entry);
  }
  return parts;
}

// Optimisers, random streams, logged metrics and learnt scalars, such as temperatures, are not
// networks. Only a learnt scalar contains an optimiser of its own.
bool is_network(const std::string& name, const std::map<std::string, const ArchiveEntry*>& arrays) {
  for (const char* other : {"optimizer", "rng", "metrics"}) {
    if (name.ends_with(other)) return false;
  }
  for (const auto& [inner, entry] : arrays) {
    if (inner.starts_with("optimizer.")) return false;
  }
  return true;
}

bool same_arrays(const std::map<std::string, const ArchiveEntry*>& a,
                 const std::map<std::string, const ArchiveEntry*>& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, entry] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second->dtype != entry->dtype ||
        other->second->shape != entry->shape) {
      return false;
    }
  }
  return true;
}

// Finds the part of `others` from which the part `name` is copied; null if no part matches.
const std::map<std::string, const ArchiveEntry*>* source_of(
    const std::string& name, const std::map<std::string, const ArchiveEntry*>& arrays,
    const Parts& others) {
  auto found = others.find(name);
  if (found == others.end() && name.ends_with(kTarget)) {
    found = others.find(name.substr(0, name.size() - kTarget.size()));
  }
  return found != others.end() && same_arrays(arrays, found->second) ? &found->second : nullptr;
}

}  // namespace

WarmStart start_from(const Checkpoint& checkpoint, TrainedPolicy& policy) {
  const auto visit = [&](StateVisitor& state) { policy.visit_state(state); };
  const auto own = save_state(visit);
  const auto others = parts_of(checkpoint.entries);
  WarmStart result;
  result.checkpoint = checkpoint.path;
  std::map<std::string, std::string> bytes;  // bytes of each copied array by its full name
  bool any_network = false;
  for (const auto& [name, arrays] : parts_of(own)) {
    if (!is_network(name, arrays)) continue;
    const auto* source = source_of(name, arrays, others);
    (source != nullptr ? result.taken : result.left).push_back(name);
    if (source == nullptr) continue;
    any_network = any_network || name + "." != kNormalizer;
    for (const auto& [inner, entry] : arrays) bytes[entry->name] = source->at(inner)->bytes;
  }
  if (!any_network) {
    throw Error(ErrorKind::config, {"--from", 0, ""},
                "no network of " + checkpoint.path + " fits this config (it needs " +
                    join(result.left, ", ") + " in its own sizes)");
  }
  auto merged = own;
  for (auto& entry : merged) {
    if (const auto found = bytes.find(entry.name); found != bytes.end()) {
      entry.bytes = found->second;
    }
  }
  load_state(merged, checkpoint.path, visit);
  return result;
}

}  // namespace rl_training
