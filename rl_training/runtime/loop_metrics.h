#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/util/json.h"

namespace rl_training {

// Metrics of the training loop. Each metric is defined by a field and a line in the function
// `metrics`. Log rows, the columns of metrics.csv and the documentation are derived from these
// definitions.

struct ProgressMetrics {
  int64_t global_step = 0, update_count = 0, epoch = 0;
  double learning_rate = 0, lr_scale = 0;
  int64_t dataset_size = 0;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("global_step", global_step);
    visit("update_count", update_count);
    visit("epoch", epoch);
    visit("learning_rate", learning_rate);
    visit("lr_scale", lr_scale);
    visit("dataset_size", dataset_size);
  }
};

struct EvaluationMetrics {
  double eval_return_mean = 0, eval_return_std = 0, eval_length_mean = 0;
  std::optional<double> normalized_score;   // if the task has reference scores
  std::optional<double> eval_success_rate;  // if the task has goals

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("eval_return_mean", eval_return_mean);
    visit("eval_return_std", eval_return_std);
    visit("eval_length_mean", eval_length_mean);
    visit("normalized_score", normalized_score);
    visit("eval_success_rate", eval_success_rate);
  }
};

// Metrics on held-out episodes. Metrics that use Q exist only for algorithms that learn Q(s, a).
struct ValidationMetrics {
  // Mean of d^2 with d = r + gamma (1 - terminated) Q(s', pi(s')) - Q(s, a).
  std::optional<double> td_error;
  // Mean of |pi(s) - a|^2, or fraction of discrete actions that differ from the logged actions.
  std::optional<double> action_error;
  std::optional<double> initial_value;  // mean of Q(s, pi(s)) at the start of episodes
  std::optional<double> advantage;      // mean of Q(s, pi(s)) - Q(s, a)

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("validation_td_error", td_error);
    visit("validation_action_error", action_error);
    visit("validation_initial_value", initial_value);
    visit("validation_advantage", advantage);
  }
};

struct CollectMetrics {
  int64_t buffer_size = 0, episodes = 0;
  Json train_return_mean;  // null if no episode ended since the last row

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("buffer_size", buffer_size);
    visit("episodes", episodes);
    visit("train_return_mean", train_return_mean);
  }
};

struct MixtureMetrics {
  int64_t pretrain_updates_done = 0, offline_batch_size = 0, online_batch_size = 0;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("pretrain_updates_done", pretrain_updates_done);
    visit("offline_batch_size", offline_batch_size);
    visit("online_batch_size", online_batch_size);
  }
};

// Writes the fields into a row. Optional fields without a value are omitted.
template <class Fields>
void add_to_row(Json& row, const Fields& fields) {
  fields.metrics([&](const char* name, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::optional<double>>) {
      if (value) row[name] = json_number(*value);
    } else if constexpr (std::is_same_v<Value, double>) {
      row[name] = json_number(value);
    } else {
      row[name] = value;
    }
  });
}

template <class Fields>
void append_names(std::vector<std::string>& names) {
  Fields{}.metrics([&](const char* name, const auto&) { names.emplace_back(name); });
}

}  // namespace rl_training
