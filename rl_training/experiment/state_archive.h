#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rl_training/experiment/safetensors.h"
#include "rl_training/util/state.h"

namespace rl_training {

using VisitState = std::function<void(StateVisitor&)>;

// Saves everything that `visit` visits, in order. Text is stored as U8 arrays.
std::vector<ArchiveEntry> save_state(const VisitState& visit);

// Loads everything that `visit` visits. Throws Error{checkpoint} with the entry's name as key if an
// entry is missing, has another dtype or shape, or is stored but not visited. With
// `allow_unvisited`, stored entries may remain unvisited, so that a part of the state can be
// loaded, for example a policy without its optimiser.
void load_state(const std::vector<ArchiveEntry>& entries, const std::string& file,
                const VisitState& visit, bool allow_unvisited = false);

// SHA-256 of the names, types, shapes and bytes that `visit` visits.
std::string hash_state(const VisitState& visit);

}  // namespace rl_training
