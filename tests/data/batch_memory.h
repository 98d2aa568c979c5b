#pragma once
#include <vector>

#include "rl_training/data/batch_request.h"
#include "rl_training/data/space.h"

namespace rl_training {

// Memory for a batch of transitions. Observations have two entries, and actions have one.
struct BatchMemory {
  explicit BatchMemory(int64_t rows)
      : obs(rows * 2),
        actions(rows),
        rewards(rows),
        next_obs(rows * 2),
        terminated(rows),
        discount(rows),
        next_actions(rows),
        next_action_valid(rows) {}

  BatchView view() {
    const auto bytes = [](std::vector<float>& values) {
      return reinterpret_cast<unsigned char*>(values.data());
    };
    BatchView view;
    view.rows = static_cast<int64_t>(rewards.size());
    view.obs_bytes = 2 * sizeof(float);
    view.action_bytes = sizeof(float);
    view.obs = bytes(obs);
    view.next_obs = bytes(next_obs);
    view.action = bytes(actions);
    view.reward = rewards.data();
    view.terminated = terminated.data();
    view.discount = discount.data();
    return view;
  }
  BatchView view_with_next_actions() {
    BatchView all = view();
    all.next_action = reinterpret_cast<unsigned char*>(next_actions.data());
    all.next_action_valid = next_action_valid.data();
    return all;
  }

  std::vector<float> obs, actions, rewards, next_obs, terminated, discount, next_actions,
      next_action_valid;
};

inline BatchRequest transitions(int64_t n_step = 1, double gamma = 0.5) {
  BatchRequest request;
  request.gamma = gamma;
  request.n_step = n_step;
  return request;
}

inline BatchRequest with_columns(std::initializer_list<BatchColumn> more, int64_t n_step = 1) {
  auto request = transitions(n_step);
  request.columns.insert(request.columns.end(), more);
  return request;
}

}  // namespace rl_training
