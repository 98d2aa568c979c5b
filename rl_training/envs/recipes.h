#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// Datasets made on the spot by scripted controllers of graded quality, so that every offline
// algorithm can be tried without a file.
struct RecipeInfo {
  std::string id, env_id, summary;
  int64_t default_size = 0;
};

const std::vector<RecipeInfo>& recipes();

// Unknown id: Error{config} at `dataset_id`.
const RecipeInfo& find_recipe(const std::string& id);

// `size` rows, or the recipe's default for 0; the same seed gives the same bits. Unknown id:
// Error{config} at `dataset_id`.
TransitionDataset recipe_dataset(const std::string& id, int64_t size, uint64_t seed);

}  // namespace rl_training
