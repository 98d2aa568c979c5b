#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/tensor_commands.h"
#include "rl_training/experiment/trained_policy.h"

namespace rl_training {

struct EvaluateArguments {
  std::string run;
  NumberArgument episodes{"10"}, seed, threads;
  std::optional<double> target_return;
};

int run_evaluate(const EvaluateArguments& arguments, const Invocation& call) {
  const auto episodes = arguments.episodes.read("--episodes", between(1, 1000000));
  PolicyLoading loading{.warn = print_note, .target_return = arguments.target_return};
  if (arguments.threads.given()) {
    loading.threads = arguments.threads.read("--threads", kThreadRange);
  }
  auto policy = load_policy(arguments.run, loading);
  const auto seed = arguments.seed.given() ? arguments.seed.read("--seed", at_least(0))
                                           : policy.config().eval_seed;
  const auto result = policy.evaluate(episodes, static_cast<uint64_t>(seed));
  const Json report = {
      {"episodes", episodes},
      {"return_mean", json_number(result.return_mean)},
      {"return_std", json_number(result.return_std)},
      {"length_mean", json_number(result.length_mean)},
      {"normalized_score",
       result.normalized_score ? json_number(*result.normalized_score) : Json(nullptr)},
      {"success_rate", result.success_rate ? json_number(*result.success_rate) : Json(nullptr)},
      {"checkpoint", policy.checkpoint()},
      {"env_id", policy.config().env_id},
      {"seed", seed}};
  if (call.json) {
    print_json(report);
  } else {
    std::vector<std::vector<std::string>> rows = {
        {"return", mean_and_std(report, "return_mean", "return_std")},
        {"normalized score", result.normalized_score
                                 ? fmt::format("{:.1f}", *result.normalized_score)
                                 : "none for this task"},
        {"episode length", fmt::format("{:.1f}", result.length_mean)},
        {"episodes", fmt::format("{} of {}, seed {}{}", episodes, policy.config().env_id, seed,
                                 arguments.seed.given() ? "" : " (eval_seed)")},
        {"checkpoint", policy.checkpoint()}};
    if (result.success_rate) {
      rows.insert(rows.begin() + 1,
                  {"reached the goal", fmt::format("{:.0f} %", 100 * *result.success_rate)});
    }
    print(text_table(rows));
  }
  return 0;
}

void add_evaluate(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<EvaluateArguments>();
  auto* command = add_command(
      program, call, "evaluate", "Play whole episodes with a trained policy and report raw returns",
      "  rl_training evaluate RUN --episodes 100\n"
      "  rl_training evaluate RUN/checkpoints/best --seed 7 --json",
      [arguments, &call] { return tensor_commands(call).evaluate(*arguments, call); });
  add_run_argument(*command, arguments->run);
  command->add_option("--episodes", arguments->episodes.text, "episodes to play")
      ->type_name("N")
      ->default_str("10");
  command
      ->add_option("--seed", arguments->seed.text,
                   "seed of the episodes (default: eval_seed of the config)")
      ->type_name("N");
  command
      ->add_option("--target-return", arguments->target_return,
                   "return to aim at instead of the config's, for return-conditioned policies")
      ->type_name("X");
  add_threads(*command, arguments->threads);
}

}  // namespace rl_training
