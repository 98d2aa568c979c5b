#pragma once
#include "rl_training/algorithms/algorithm.h"

namespace rl_training {

// All known algorithms: those of the library, then those added by `register_algorithm`.
const std::vector<AlgorithmInfo>& algorithms();

// Adds an algorithm of another program or library, made by `algorithm_info<Class, Options>`. A name
// that is taken: Error{config}. Not to be called while other threads look algorithms up.
void register_algorithm(AlgorithmInfo info, AlgorithmMaker make);
template <class Class, class Options>
void register_algorithm(AlgorithmInfoOf<Class, Options> info) {
  register_algorithm(std::move(info), make_from_options<Class, Options>);
}

// Throws Error{config} with the nearest name when there is none.
const AlgorithmInfo& find_algorithm(const std::string& name);

// An algorithm by its name, with options that its `make_options` made.
std::unique_ptr<Algorithm> make_algorithm(const std::string& name, const AlgorithmOptions& options,
                                          const AlgorithmContext& context);

// Whether it can learn from such observations and actions.
bool fits(const AlgorithmInfo& info, const Space& obs, const Space& action);

}  // namespace rl_training
