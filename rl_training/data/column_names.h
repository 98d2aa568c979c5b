#pragma once
#include <string>

#include "rl_training/data/logged_steps.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// Key under which this program stores the names of the elements of observations and actions.
constexpr const char* kNamesKey = "rl_training_names";

// Returns the names as JSON, or "" if the dataset has no names.
std::string names_to_text(const TransitionDataset& dataset);

// Stores the names from this JSON text in `steps`. Ignores a list whose length differs from the
// number of elements of an observation or action.
void names_from_text(const std::string& text, LoggedSteps& steps);

}  // namespace rl_training
