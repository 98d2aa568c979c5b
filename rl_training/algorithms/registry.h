#pragma once
#include "rl_training/algorithms/algorithm.h"

namespace rl_training {

// All known algorithms: first those of the library, then those added by `register_algorithm`.
const std::vector<AlgorithmInfo>& algorithms();

// Adds an algorithm that is defined outside this library. Create `info` with `algorithm_info<Class,
// Options>`. Throws Error{config} if the name is already registered. Must not be called while other
// threads look up algorithms.
void register_algorithm(AlgorithmInfo info, AlgorithmMaker make);
template <class Class, class Options>
void register_algorithm(AlgorithmInfoOf<Class, Options> info) {
  register_algorithm(std::move(info), make_from_options<Class, Options>);
}

// Throws Error{config} that suggests the nearest name if `name` is unknown.
const AlgorithmInfo& find_algorithm(const std::string& name);

// Creates an algorithm by name. `options` must come from the algorithm's `make_options`.
std::unique_ptr<Algorithm> make_algorithm(const std::string& name, const AlgorithmOptions& options,
                                          const AlgorithmContext& context);

// Whether the algorithm supports these observations and actions.
bool fits(const AlgorithmInfo& info, const Space& obs, const Space& action);

}  // namespace rl_training
