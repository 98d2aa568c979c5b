#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/greedy_policy.h"
#include "cli/output.h"
#include "cli/tensor_commands.h"
#include "rl_training/envs/registry.h"
#include "rl_training/render/film.h"

namespace rl_training {

struct RenderArguments {
  std::string run, policy, env_id, output;
  NumberArgument episodes{"1"}, seed, every, width{"480"};
  bool plain = false;
};

namespace {

void check_arguments(const RenderArguments& arguments) {
  if (arguments.run.empty() == arguments.policy.empty()) {
    throw Error(ErrorKind::config, {"", 0, "RUN"},
                "expected a run (or checkpoint), or --policy random|zero with --env ID");
  }
  if (!arguments.policy.empty() && arguments.env_id.empty()) {
    throw Error(ErrorKind::config, {"", 0, "--env"}, "missing (--policy needs an environment)");
  }
}

FilmReport render(const RenderArguments& arguments) {
  check_arguments(arguments);
  FilmOptions film;
  film.episodes = arguments.episodes.read("--episodes", between(1, 1000));
  film.photos = !arguments.plain;
  film.width = arguments.width.read("--width", between(100, 2000));
  if (arguments.every.given()) film.every = arguments.every.read("--every", at_least(1));
  int64_t seed = arguments.seed.given() ? arguments.seed.read("--seed", at_least(0)) : 0;
  if (arguments.run.empty()) {
    film.seed = static_cast<uint64_t>(seed);
    const auto env = make_environment(arguments.env_id);
    return film_episodes(
        *env, arguments.policy == "zero" ? zero_policy : random_policy(env->spec().action), film,
        arguments.output);
  }
  auto policy = load_policy(arguments.run, {.warn = print_note});
  if (!arguments.seed.given()) seed = policy.config().eval_seed;
  film.seed = static_cast<uint64_t>(seed);
  const auto env = environment_for(policy, arguments.env_id, "render");
  return film_episodes(*env, greedy_policy(policy), film, arguments.output);
}

void print_report(const FilmReport& report, const std::string& path, bool json) {
  if (json) {
    Json returns = Json::array();
    for (const double value : report.returns) returns.push_back(json_number(value));
    return print_json({{"output", path},
                       {"pictures", report.pictures},
                       {"renderer", report.photos ? "mujoco" : "drawing"},
                       {"returns", returns},
                       {"lengths", report.lengths}});
  }
  std::vector<std::vector<std::string>> rows = {
      {"picture", fmt::format("{} ({} moments)", path, report.pictures)}};
  for (size_t i = 0; i < report.returns.size(); ++i) {
    rows.push_back(
        {fmt::format("episode {}", i),
         fmt::format("return {:.1f} in {} steps", report.returns[i], report.lengths[i])});
  }
  print(text_table(rows));
}

}  // namespace

int run_render(const RenderArguments& arguments, const Invocation& call) {
  print_report(render(arguments), arguments.output, call.json);
  return 0;
}

void add_render(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<RenderArguments>();
  auto* command = add_command(
      program, call, "render", "Draw episodes of a policy as an animated GIF or a strip of frames",
      "  rl_training render RUN --output episode.gif\n"
      "  rl_training render RUN/checkpoints/best --output episode.png --seed 7\n"
      "  rl_training render --policy random --env Hopper-v4 --output random.gif --every 2",
      [arguments, &call] { return tensor_commands(call).render(*arguments, call); });
  command->add_option("RUN", arguments->run, "run directory or checkpoint whose policy acts")
      ->type_name("RUN|CHECKPOINT");
  command->add_option("--policy", arguments->policy, "random or zero actions instead of a run")
      ->check(CLI::IsMember({"random", "zero"}))
      ->type_name("random|zero");
  command->add_option("--env", arguments->env_id, "environment (default: that of the run)")
      ->type_name("ID");
  command
      ->add_option("--output", arguments->output,
                   "file to write: .gif is animated, .png is a strip of frames")
      ->required()
      ->type_name("FILE");
  command->add_option("--episodes", arguments->episodes.text, "episodes (1)")->type_name("N");
  command
      ->add_option("--seed", arguments->seed.text,
                   "seed of the episodes (default: eval_seed of the config for a run, otherwise 0)")
      ->type_name("N");
  command
      ->add_option(
          "--every", arguments->every.text,
          "steps between frames (default: at most 250 frames per episode in a GIF, 8 in a PNG)")
      ->type_name("K");
  command->add_flag("--plain", arguments->plain,
                    "draw outlines even if MuJoCo's renderer (libosmesa6) is available");
  command->add_option("--width", arguments->width.text, "width of a frame in pixels (480)")
      ->type_name("N");
}

}  // namespace rl_training
