#pragma once
#include <string>

#include "rl_training/data/logged_steps.h"
#include "rl_training/data/transition_dataset.h"

namespace rl_training {

// Key under which our files keep the names of observations and actions.
constexpr const char* kNamesKey = "rl_training_names";

// The names as JSON; "" if there are none.
std::string names_to_text(const TransitionDataset& dataset);

// Reads them back; names that do not fit the data are ignored.
void names_from_text(const std::string& text, LoggedSteps& steps);

}  // namespace rl_training
