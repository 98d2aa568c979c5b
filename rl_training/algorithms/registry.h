#pragma once
#include "rl_training/algorithms/algorithm.h"

namespace rl_training {

// Every algorithm of the library, by name.
const std::vector<AlgorithmInfo>& algorithms();

// Throws Error{config} with the nearest name when there is none.
const AlgorithmInfo& find_algorithm(const std::string& name);

}  // namespace rl_training
