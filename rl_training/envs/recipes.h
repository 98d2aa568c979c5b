#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// Describes a dataset that scripted controllers generate. The quality of the controllers differs
// between recipes. With recipes, you can try every offline algorithm without a data file.
struct RecipeInfo {
  std::string id, env_id, summary;
  int64_t default_size = 0;
};

const std::vector<RecipeInfo>& recipes();

// Throws Error{config} at `dataset_id` for an unknown id.
const RecipeInfo& find_recipe(const std::string& id);

// Returns `size` rows, or the recipe's default number of rows if `size` is 0. The same arguments
// always produce bit-identical data. Throws Error{config} at `dataset_id` for an unknown id.
TransitionDataset recipe_dataset(const std::string& id, int64_t size, uint64_t seed);

}  // namespace rl_training
