#pragma once
#include <array>
#include <string>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/npz.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/util/rng.h"

namespace rl_training {

// Writes a log that belongs to no environment: ten episodes of 20 steps with two-dimensional
// observations and actions. In the units of the machine, the actions are in [-3, 1] and [0, 10].
// `seed` changes the values but not the bounds.
inline std::string write_machine_log(const std::string& path, uint64_t seed = 5) {
  const Space bounds = Space::box({-3, 0}, {1, 10});
  DatasetBuilder builder(2, 2);
  Rng rng(seed, "log");
  for (int episode = 0; episode < 10; ++episode) {
    std::array<float, 2> obs = {static_cast<float>(rng.uniform()), 0};
    builder.begin_episode(obs);
    for (int step = 0; step < 20; ++step) {
      // The data contains the bounds of both action dimensions.
      const float first = step == 0 ? -1.0f : step == 1 ? 1.0f : static_cast<float>(rng.uniform());
      const float second = step == 2 ? -1.0f : step == 3 ? 1.0f : static_cast<float>(rng.uniform());
      obs = {0.9f * obs[0] + 0.1f * first, second};
      builder.add(std::array{first, second}, -obs[0] * obs[0], obs, false, step == 19);
    }
  }
  save_npz_dataset(std::move(builder).build(), path, &bounds);
  return path;
}

// Returns a config for 30 updates of a small network on the log. `kwargs` is appended to
// algo_kwargs and starts with a comma. `top` consists of whole lines at the top level.
inline TrainConfig machine_config(const std::string& log, const std::string& output_dir,
                                  const std::string& kwargs = "",
                                  const std::string& algo = "td3_bc", const std::string& top = "") {
  return read_train_config(
      read_yaml("algo: " + algo +
                    "\ntotal_timesteps: 30\nlog_interval: 10\n"
                    "checkpoint_interval: 10\n" +
                    top + "output_dir: " + output_dir + "\nalgo_kwargs: {" +
                    (algo == "decision_transformer" ? "" : "hidden_sizes: [8], ") +
                    "batch_size: 16, "
                    "dataset_path: " +
                    log + kwargs + "}\n",
                "c.yaml"));
}

}  // namespace rl_training
