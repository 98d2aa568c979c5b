#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rl_training/experiment/safetensors.h"
#include "rl_training/util/state.h"

namespace rl_training {

using VisitState = std::function<void(StateVisitor&)>;

// Everything `visit` names, in that order. Texts are stored as U8 arrays.
std::vector<ArchiveEntry> save_state(const VisitState& visit);

// Fills everything `visit` names. A name that is missing or has another dtype or shape, and an
// entry that was not requested, throw Error{checkpoint} with that name as the key. With
// `allow_unvisited` a part of the state may be loaded alone (a policy without its optimiser).
void load_state(const std::vector<ArchiveEntry>& entries, const std::string& file,
                const VisitState& visit, bool allow_unvisited = false);

// SHA-256 over names, types, shapes and bytes.
std::string hash_state(const VisitState& visit);

}  // namespace rl_training
