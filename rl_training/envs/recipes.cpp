#include "rl_training/envs/recipes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/envs/maze_controller.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// Swing-up controller for the pendulum: pumps energy until the pendulum is near the top, then holds
// it with a PD law. The default parameters reach a return of about -140. Degraded parameters
// generate mediocre data.
struct SwingUp {
  double pump_gain = 1.0;
  double extra_energy = 0.5;  // target energy minus the energy at rest in the upright position
  double angle_gain = 10.0, speed_gain = 3.0;
  double noise = 0.05;        // standard deviation, in units of the largest torque
  double lapse_chance = 0.0;  // probability per step of starting to act at random
  int64_t lapse_steps = 0;    // duration of such a lapse
  int64_t lapse_left = 0;

  void act(std::span<const double> obs, Rng& rng, std::span<float> action_unit) {
    if (lapse_left == 0 && rng.uniform() < lapse_chance) lapse_left = lapse_steps;
    if (lapse_left > 0) {
      --lapse_left;
      rng.fill_uniform(action_unit, -1.0f, 1.0f);
      return;
    }
    const double value = torque(obs) / kMaxTorque + noise * rng.normal();
    action_unit[0] = static_cast<float>(std::clamp(value, -1.0, 1.0));
  }

 private:
  static constexpr double kMaxTorque = 2.0;
  static constexpr double kGravityTerm = 15.0;  // angular acceleration of a horizontal pendulum
  static constexpr double kHoldAngle = 0.5;
  // If the PD law requests more torque than this, the pendulum is too fast to hold upright.
  static constexpr double kHoldTorque = 6.0;

  double torque(std::span<const double> obs) const {
    const double angle = std::atan2(obs[1], obs[0]);
    const double speed = obs[2];
    const double hold = -(angle_gain * angle + speed_gain * speed);
    if (std::abs(angle) < kHoldAngle && std::abs(hold) < kHoldTorque) return hold;
    const double missing = kGravityTerm * (1 - obs[0]) - 0.5 * speed * speed + extra_energy;
    return pump_gain * missing * (speed >= 0 ? 1 : -1);
  }
};

Policy expert_episode(Rng&) {
  return [policy = SwingUp()](std::span<const double> obs, Rng& rng,
                              std::span<float> action) mutable { policy.act(obs, rng, action); };
}

// Every episode has different flaws: wrong gains, noise, lapses. The data therefore contains good
// and bad actions in similar states, and an offline algorithm can learn from the difference.
Policy medium_episode(Rng& rng) {
  SwingUp policy;
  policy.pump_gain = rng.uniform(0.05, 0.5);
  policy.extra_energy = rng.uniform(-3.0, 3.0);
  policy.angle_gain = rng.uniform(4.0, 12.0);
  policy.speed_gain = rng.uniform(0.5, 3.0);
  policy.noise = rng.uniform(0.1, 0.6);
  policy.lapse_chance = rng.uniform(0.0, 0.06);
  policy.lapse_steps = 5 + static_cast<int64_t>(rng.below(16));
  return [policy](std::span<const double> obs, Rng& steps, std::span<float> action) mutable {
    policy.act(obs, steps, action);
  };
}

Policy random_torques(Rng&) { return random_policy(Space::unit_box(1)); }

// Balances the pole: pushes the cart to the side to which the pole leans. If the position and speed
// gains are positive, the controller first pushes a cart that is off-centre further outward. The
// pole then leans inward, and the cart follows it back to the middle of the track.
struct PoleBalance {
  double angle_gain = 1.0, turn_gain = 0.3, position_gain = 0.05, speed_gain = 0.1;
  double bias = 0.0;   // error of the angle that the controller considers upright, in radians
  double noise = 0.0;  // standard deviation of the noise on the measured angle
  double lapse_chance = 0.0;  // probability per step of starting to push at random
  int64_t lapse_steps = 0;    // duration of such a lapse
  int64_t lapse_left = 0;

  void act(std::span<const double> obs, Rng& rng, std::span<float> choice) {
    if (lapse_left == 0 && rng.uniform() < lapse_chance) lapse_left = lapse_steps;
    if (lapse_left > 0) {
      --lapse_left;
      choice[0] = static_cast<float>(rng.below(2));
      return;
    }
    const double lean = position_gain * obs[0] + speed_gain * obs[1] +
                        angle_gain * (obs[2] - bias) + turn_gain * obs[3] + noise * rng.normal();
    choice[0] = lean > 0 ? 1.0f : 0.0f;
  }
};

// Every episode has different flaws, for the reason given at medium_episode().
Policy medium_balance(Rng& rng) {
  PoleBalance policy;
  policy.turn_gain = rng.uniform(0.0, 0.4);
  policy.position_gain = rng.uniform(-0.05, 0.05);
  policy.speed_gain = rng.uniform(-0.1, 0.1);
  policy.bias = rng.uniform(-0.06, 0.06);
  policy.noise = rng.uniform(0.02, 0.2);
  policy.lapse_chance = rng.uniform(0.0, 0.04);
  policy.lapse_steps = 3 + static_cast<int64_t>(rng.below(8));
  return [policy](std::span<const double> obs, Rng& steps, std::span<float> choice) mutable {
    policy.act(obs, steps, choice);
  };
}

Policy random_pushes(Rng&) { return random_policy(Space::discrete(2)); }

// Lands the craft: the side engines tilt the craft to bring it over the pad, and the main engine
// limits the rate of descent.
struct Landing {
  // Target angle per unit of horizontal distance from the pad, and per unit of horizontal speed.
  double tilt_gain = 0.5, drift_gain = 1.0;
  double hover = 0.55;  // target height per unit of horizontal distance from the pad
  double brake_gain = 0.5;
  double lapse_chance = 0.0;  // probability per step of firing a random engine

  void act(std::span<const double> obs, Rng& rng, std::span<float> choice) const {
    enum Engine { none, left, main, right, engines };
    if (rng.uniform() < lapse_chance) {
      choice[0] = static_cast<float>(rng.below(engines));
      return;
    }
    const bool stands = obs[6] > 0 || obs[7] > 0;
    const double aim = std::clamp(tilt_gain * obs[0] + drift_gain * obs[2], -0.4, 0.4);
    const double turn = stands ? 0 : 0.5 * (aim - obs[4]) - obs[5];
    const double lift =
        (stands ? 0 : 0.5 * (hover * std::abs(obs[0]) - obs[1])) - brake_gain * obs[3];
    constexpr double kWorthIt = 0.05;
    Engine engine = none;
    if (lift > std::max(std::abs(turn), kWorthIt)) {
      engine = main;
    } else if (std::abs(turn) > kWorthIt) {
      engine = turn > 0 ? left : right;
    }
    choice[0] = static_cast<float>(engine);
  }
};

Policy medium_landing(Rng& rng) {
  Landing policy;
  policy.tilt_gain = rng.uniform(0.1, 0.6);
  policy.drift_gain = rng.uniform(0.3, 1.2);
  policy.hover = rng.uniform(0.2, 0.8);
  policy.brake_gain = rng.uniform(0.2, 0.6);
  policy.lapse_chance = rng.uniform(0.0, 0.4);
  return [policy](std::span<const double> obs, Rng& steps, std::span<float> choice) {
    policy.act(obs, steps, choice);
  };
}

// Pushes the ball towards its goal, adds noise, and makes occasional detours to other cells.
struct MazeWalk {
  MazeController controller;
  std::vector<MazeCell> cells;
  double noise = 0.0;
  double stray_chance = 0.0;  // probability per step of heading for a random cell
  int64_t stray_steps = 0;    // duration of such a detour
  int64_t stray_left = 0;

  void act(std::span<const double> obs, Rng& rng, std::span<float> action_unit) {
    if (stray_left == 0 && rng.uniform() < stray_chance) {
      stray_left = stray_steps;
      controller.set_detour(cells[rng.below(cells.size())]);
    } else if (stray_left > 0 && --stray_left == 0) {
      controller.set_detour(std::nullopt);
    }
    const Point push = controller.push(obs);
    for (const size_t axis : {0, 1}) {
      const double value = (axis == 0 ? push.x : push.y) + noise * rng.normal();
      action_unit[axis] = static_cast<float>(std::clamp(value, -1.0, 1.0));
    }
  }
};

Policy maze_walk(const std::string& id, Rng& rng) {
  const MazeTask& task = maze_task(id);
  MazeWalk walk{MazeController(task, rng.uniform(2.0, 10.0), rng.uniform(0.5, 1.5)),
                task.map.cells(".")};
  walk.noise = rng.uniform(0.2, 0.8);
  walk.stray_chance = rng.uniform(0.0, 0.02);
  walk.stray_steps = 50 + static_cast<int64_t>(rng.below(100));
  return [walk](std::span<const double> obs, Rng& steps, std::span<float> action) mutable {
    walk.act(obs, steps, action);
  };
}

Policy umaze_walk(Rng& rng) { return maze_walk("PointMaze_UMaze-v3", rng); }
Policy medium_maze_walk(Rng& rng) { return maze_walk("PointMaze_Medium-v3", rng); }

using MakeEpisode = Policy (*)(Rng& rng);

// The episodes of a dataset cycle through the controllers in `episodes`.
struct Recipe {
  RecipeInfo info;
  std::vector<MakeEpisode> episodes;
};

const std::vector<Recipe>& recipe_table() {
  static const std::vector<Recipe> entries = {
      {{"pendulum/random", "Pendulum-v1", "uniform torques", 20'000}, {random_torques}},
      {{"pendulum/medium", "Pendulum-v1", "a flawed swing-up controller, different each episode",
        40'000},
       {medium_episode}},
      {{"pendulum/expert", "Pendulum-v1", "a good swing-up controller", 40'000}, {expert_episode}},
      {{"pendulum/mixed", "Pendulum-v1", "random, medium and expert episodes, alternating", 48'000},
       {random_torques, medium_episode, expert_episode}},
      {{"cartpole/random", "CartPole-v1", "random pushes", 20'000}, {random_pushes}},
      {{"cartpole/medium", "CartPole-v1", "a flawed balancing controller, different each episode",
        20'000},
       {medium_balance}},
      {{"lunarlander/medium", "LunarLander-v3",
        "a flawed landing controller, different each episode", 40'000},
       {medium_landing}},
      {{"pointmaze/umaze", "PointMaze_UMaze-v3",
        "a noisy waypoint controller with occasional detours", 40'000},
       {umaze_walk}},
      {{"pointmaze/medium", "PointMaze_Medium-v3",
        "a noisy waypoint controller with occasional detours", 50'000},
       {medium_maze_walk}},
  };
  return entries;
}

}  // namespace

const std::vector<RecipeInfo>& recipes() {
  static const std::vector<RecipeInfo> infos = [] {
    std::vector<RecipeInfo> list;
    for (const Recipe& recipe : recipe_table()) list.push_back(recipe.info);
    return list;
  }();
  return infos;
}

const RecipeInfo& find_recipe(const std::string& id) {
  std::vector<std::string> ids;
  for (const RecipeInfo& info : recipes()) {
    if (info.id == id) return info;
    ids.push_back(info.id);
  }
  throw Error(ErrorKind::config, {"", 0, "dataset_id"},
              "unknown recipe (expected one of " + join(ids, ", ") + ", got `" + id + "`" +
                  did_you_mean(id, ids) + ")");
}

TransitionDataset recipe_dataset(const std::string& id, int64_t size, uint64_t seed) {
  const auto index = static_cast<size_t>(&find_recipe(id) - recipes().data());
  if (size < 0) {
    throw Error(ErrorKind::config, {"", 0, "dataset_size"},
                "out of range (expected >= 0, got " + std::to_string(size) + ")");
  }
  const Recipe& recipe = recipe_table()[index];
  const int64_t rows = size > 0 ? size : recipe.info.default_size;
  const auto env = make_environment(recipe.info.env_id);
  DatasetBuilder builder = builder_for(env->spec());
  Rng rng(seed, "recipe");
  for (size_t episode = 0; builder.rows() < rows; ++episode) {
    const Policy policy = recipe.episodes[episode % recipe.episodes.size()](rng);
    collect_episode(*env, policy, rows - builder.rows(), rng, builder);
  }
  return std::move(builder).build().with_next_actions();
}

}  // namespace rl_training
