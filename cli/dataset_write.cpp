#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/dataset_arguments.h"
#include "cli/dataset_output.h"
#include "cli/greedy_policy.h"
#include "cli/output.h"
#include "cli/tensor_commands.h"
#include "rl_training/data/behaviour_policy.h"
#include "rl_training/data/marked_ends.h"
#include "rl_training/data/mixing.h"
#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/experiment/trained_policy.h"

namespace rl_training {

struct CollectArguments {
  std::string env_id, policy, recipe;
  NumberArgument size{"10000"}, seed{"0"};
  double noise = 0;

  int64_t row_count() const { return size.read("--size", between(1, 1e9)); }
  uint64_t seed_value() const { return static_cast<uint64_t>(seed.read("--seed", at_least(0))); }
};

namespace {

constexpr const char* kEnvOfFiles =
    "environment of the data, for the time limit of files that mark no time-outs and for Minari's "
    "action space";

struct MixArguments {
  std::vector<std::string> inputs;
  std::vector<double> weights;
  NumberArgument size{"0"}, seed{"0"};
};

TransitionDataset mix(const MixArguments& arguments, ReadArguments& read) {
  if (!arguments.weights.empty() && arguments.weights.size() != arguments.inputs.size()) {
    throw Error(ErrorKind::config, {"", 0, "--weights"},
                fmt::format("wrong number of weights (expected {}, one per input, got {})",
                            arguments.inputs.size(), arguments.weights.size()));
  }
  const auto size = arguments.size.read("--size", between(0, 1e9));
  const auto seed = static_cast<uint64_t>(arguments.seed.read("--seed", at_least(0)));
  std::vector<DatasetPart> parts;
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    auto dataset = load_dataset_file(read.kind, arguments.inputs[i], read.options(false));
    // Without --weights, the weight of a dataset is its number of rows, so that all rows are used.
    const double weight =
        arguments.weights.empty() ? static_cast<double>(dataset.rows()) : arguments.weights[i];
    parts.push_back({std::move(dataset), weight, arguments.inputs[i]});
  }
  return with_marked_ends(mix_transition_datasets(parts, size, seed));
}

TransitionDataset convert(const std::string& path, ReadArguments& read) {
  const auto kind = read.kind == "auto" ? detect_dataset_kind(path) : read.kind;
  const auto options = read.options(false);
  DatasetFileSummary file;
  const auto dataset = load_dataset_file(kind, path, options, &file);
  if (file.dropped_rows > 0) {
    print_note(fmt::format(
        "{}: dropped {} of {} rows: {}; the row before each of them is now the end of its episode "
        "by time-out",
        path, file.dropped_rows, file.rows,
        timeout_policy_for(kind, options) == TimeoutPolicy::drop
            ? "timeout_policy drop removes steps that end by time-out and the last row"
            : "they end an episode without termination, and the observation after them is not in "
              "the file"));
  }
  return with_marked_ends(dataset);
}

// Returns a callback that prints progress every few seconds.
std::function<void(int64_t rows)> tell_progress(int64_t size) {
  using Clock = std::chrono::steady_clock;
  return [size, last = Clock::now()](int64_t rows) mutable {
    const auto now = Clock::now();
    if (now - last < std::chrono::seconds(5) || rows >= size) return;
    last = now;
    print_note(fmt::format("{} of {} rows", rows, size));
  };
}

// Collects data with the behaviour policy that is stored in the D4RL file `path`.
TransitionDataset collect_behaviour(const std::string& path, Environment& env, int64_t size,
                                    uint64_t seed) {
  auto policy = BehaviourPolicy::read(path);
  const EnvSpec& spec = env.spec();
  if (spec.observation.size() != policy.obs_dim() || spec.action.is_discrete() ||
      spec.action.size() != policy.action_dim()) {
    throw Error(ErrorKind::config, {"", 0, "--env"},
                fmt::format("the policy of {} does not fit {} (expected observations of {} and "
                            "actions of {} numbers, got {} and {})",
                            path, spec.id, policy.obs_dim(), policy.action_dim(),
                            spec.observation.text(), spec.action.text()));
  }
  const auto act = [&](std::span<const double> obs, Rng& rng, std::span<float> action) {
    policy.act(obs, rng, action);
  };
  return collect_dataset(env, Policy(act), size, Rng(seed, "collect"), tell_progress(size));
}

// Adds noise to the actions of a policy, so that the data covers more actions.
Policy with_noise(Policy policy, const Space& space, double noise) {
  if (noise == 0) return policy;
  policy.act = [act = policy.act, space, noise](std::span<const double> obs, Rng& rng,
                                                std::span<float> action) {
    act(obs, rng, action);
    if (space.is_discrete()) {
      if (rng.uniform() < noise) {
        action[0] = static_cast<float>(rng.below(static_cast<uint64_t>(space.categories)));
      }
      return;
    }
    for (float& value : action) {
      value = std::clamp(value + static_cast<float>(noise * rng.normal()), -1.0f, 1.0f);
    }
  };
  return policy;
}

// Returns the dataset and sets `bounds` to the action space of its environment.
TransitionDataset collect(const CollectArguments& arguments, Space& bounds,
                          const Invocation& call) {
  const auto size = arguments.row_count();
  const auto seed = arguments.seed_value();
  const std::string& path = arguments.policy;
  const bool recorded = path.ends_with(".hdf5") || path.ends_with(".h5");
  if (arguments.noise != 0 && (path.empty() || recorded)) {
    throw Error(ErrorKind::config, {"", 0, "--noise"}, "needs --policy RUN");
  }
  if (!(arguments.noise >= 0 && arguments.noise <= 1)) {
    throw Error(ErrorKind::config, {"", 0, "--noise"},
                fmt::format("out of range (expected 0 <= noise <= 1, got {})", arguments.noise));
  }
  if (!arguments.recipe.empty()) {
    bounds = make_environment(find_recipe(arguments.recipe).env_id)->spec().action;
    return recipe_dataset(arguments.recipe, size, seed);
  }
  if (arguments.env_id.empty() && (path.empty() || recorded)) {
    throw Error(ErrorKind::config, {"", 0, "--env"},
                "missing (expected --env ID for random actions or a D4RL file's policy, "
                "--policy RUN, or --recipe ID)");
  }
  if (path.empty() || recorded) {
    const auto env = make_environment(arguments.env_id);
    bounds = env->spec().action;
    if (recorded) return collect_behaviour(path, *env, size, seed);
    return random_dataset(arguments.env_id, size, seed, {}, tell_progress(size));
  }
  return tensor_commands(call).collect(arguments, bounds);
}

}  // namespace

TransitionDataset collect_with_run(const CollectArguments& arguments, Space& bounds) {
  auto policy = load_policy(arguments.policy, {.warn = print_note});
  const auto env = environment_for(policy, arguments.env_id, "dataset collect");
  bounds = env->spec().action;
  return collect_dataset(*env, with_noise(greedy_policy(policy), bounds, arguments.noise),
                         arguments.row_count(), Rng(arguments.seed_value(), "collect"),
                         tell_progress(arguments.row_count()));
}

void add_dataset_convert(CLI::App& parent, Invocation& call) {
  auto read = std::make_shared<ReadArguments>();
  read->timeout_policy = "keep";  // retains as many steps as possible
  auto path = std::make_shared<std::string>();
  auto write = std::make_shared<WriteArguments>();
  auto* command = add_command(
      parent, call, "convert", "Read a dataset in one format and write it in another",
      "  rl_training dataset convert hopper_medium-v2.hdf5 hopper.npz\n"
      "  rl_training dataset convert log.csv log.hdf5 --keys "
      "'obs=x,v action=u reward=r terminated=failed'\n"
      "  rl_training dataset convert log.npz pendulum-log-v0 --to minari --env Pendulum-v1",
      [read, path, write, &call] {
        write->check({*path});
        const auto dataset = convert(*path, *read);
        write->save(dataset, read->env_id.empty() ? nullptr : &read->bounds, false, call);
        return 0;
      });
  command->add_option("FILE", *path, "dataset file, or directory or id of a Minari dataset")
      ->required()
      ->type_name("");
  write->add_to(*command);
  read->add_to(*command, kEnvOfFiles);
}

void add_dataset_mix(CLI::App& parent, Invocation& call) {
  auto read = std::make_shared<ReadArguments>();
  auto write = std::make_shared<WriteArguments>();
  auto arguments = std::make_shared<MixArguments>();
  auto* command = add_command(
      parent, call, "mix", "Draw whole episodes from several datasets by weight",
      "  rl_training dataset mix both.hdf5 expert.hdf5 random.npz\n"
      "  rl_training dataset mix mixed.npz expert.hdf5 random.npz --weights 3,1 --size 100000 "
      "--seed 7",
      [read, write, arguments, &call] {
        write->check(arguments->inputs);
        const auto dataset = mix(*arguments, *read);
        write->save(dataset, read->env_id.empty() ? nullptr : &read->bounds, false, call);
        return 0;
      });
  write->add_to(*command);
  command->add_option("FILE", arguments->inputs, "datasets to draw from")
      ->required()
      ->type_name("");
  command
      ->add_option("--weights", arguments->weights,
                   "weight of each dataset; default: all rows of each")
      ->delimiter(',')
      ->type_name("W,W,...");
  command
      ->add_option("--size", arguments->size.text,
                   "rows to draw; 0: as many rows as all datasets have")
      ->type_name("N");
  command->add_option("--seed", arguments->seed.text, "seed of the draw")->type_name("N");
  read->add_to(*command, kEnvOfFiles);
}

void add_dataset_collect(CLI::App& parent, Invocation& call) {
  auto arguments = std::make_shared<CollectArguments>();
  auto write = std::make_shared<WriteArguments>();
  auto* command = add_command(
      parent, call, "collect",
      "Record transitions of a random policy, a trained policy or a D4RL behaviour policy",
      "  rl_training dataset collect random.npz --env Hopper-v4 --size 100000\n"
      "  rl_training dataset collect expert.hdf5 --policy RUN --size 20000\n"
      "  rl_training dataset collect near.hdf5 --policy RUN/checkpoints/step-000005000 --noise "
      "0.1\n"
      "  rl_training dataset collect medium.hdf5 --policy hopper_medium-v2.hdf5 --env Hopper-v2 "
      "--size 1000000\n"
      "  rl_training dataset collect maze.hdf5 --recipe pointmaze/umaze --size 100000",
      [arguments, write, &call] {
        write->check({arguments->policy});
        Space bounds;
        const auto dataset = collect(*arguments, bounds, call);
        write->save(dataset, &bounds, true, call);
        return 0;
      });
  write->add_to(*command);
  auto* env = command->add_option("--env", arguments->env_id, "environment to act in");
  env->type_name("ID");
  auto* policy = command->add_option(
      "--policy", arguments->policy,
      "run, checkpoint, or D4RL file (.hdf5) with its behaviour policy; default: random actions");
  policy->type_name("RUN|FILE");
  command->add_option("--recipe", arguments->recipe, "scripted controller (`envs ID` lists them)")
      ->excludes(env)
      ->excludes(policy)
      ->type_name("ID");
  command
      ->add_option("--noise", arguments->noise,
                   "standard deviation of the noise on the policy's actions, relative to half "
                   "their range; for discrete actions, the probability of a random one")
      ->type_name("X")
      ->default_str("0");
  command->add_option("--size", arguments->size.text, "rows to record")->type_name("N");
  command->add_option("--seed", arguments->seed.text, "seed of resets and actions")->type_name("N");
}

}  // namespace rl_training
