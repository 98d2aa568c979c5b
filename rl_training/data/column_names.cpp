#include "rl_training/data/column_names.h"

#include "rl_training/util/json.h"
#include "rl_training/util/text.h"

namespace rl_training {

std::string names_to_text(const TransitionDataset& dataset) {
  if (dataset.observation_names().empty() && dataset.action_names().empty()) return "";
  const Json names = {{"observations", dataset.observation_names()},
                      {"actions", dataset.action_names()}};
  return names.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void names_from_text(const std::string& text, LoggedSteps& steps) {
  const Json names = parse_untrusted_json(text);
  const auto take = [&](const char* key, int64_t count, std::vector<std::string>& target) {
    if (!names.is_object() || !names.contains(key) || !names.at(key).is_array()) return;
    if (static_cast<int64_t>(names.at(key).size()) != count) return;
    for (const auto& name : names.at(key)) {
      if (!name.is_string()) return target.clear();
      target.push_back(shortened(printable(name.get<std::string>()), 200));
    }
  };
  take("observations", steps.obs_dim, steps.observation_names);
  take("actions", steps.action_dim, steps.action_names);
}

}  // namespace rl_training
