#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/arguments.h"
#include "cli/observation_line.h"
#include "cli/output.h"
#include "cli/tensor_commands.h"
#include "rl_training/experiment/trained_policy.h"

namespace rl_training {

struct PredictArguments {
  std::string run;
  std::optional<std::string> obs, input;
};

namespace {

constexpr std::streamsize kLongestLine = 1 << 20;

// Prints an action for each observation. All observations are steps of one episode.
class Answers {
 public:
  explicit Answers(TrainedPolicy& policy) : env_(policy.env()), episode_(policy) {}

  void answer(const std::string& text, const ErrorPlace& place) {
    const auto line = read_observation_line(text, env_.observation.size(), place);
    if (line.reward) {
      if (first_) {
        throw Error(ErrorKind::data, place,
                    "the first line cannot have a reward (expected an observation only)");
      }
      episode_.observe_reward(*line.reward);
    }
    first_ = false;
    const auto action = episode_.act(line.obs);
    for (const double value : action) {
      if (!std::isfinite(value)) {
        throw Error(ErrorKind::data, place, "the policy's action is not finite");
      }
    }
    // A discrete action is printed as an integer.
    Json printed = action;
    if (env_.action.is_discrete()) printed = Json::array({static_cast<int64_t>(action[0])});
    print_json({{"action", printed}});
  }

 private:
  const EnvSpec& env_;
  PolicyEpisode episode_;
  bool first_ = true;
};

// Answers each line before the next line is read.
void answer_lines(Answers& answers, std::istream& input, const std::string& name) {
  std::vector<char> line(kLongestLine);
  for (int number = 1; input.getline(line.data(), kLongestLine) || input.gcount() > 0; ++number) {
    const ErrorPlace place{name, number, ""};
    if (input.fail() && !input.eof()) {
      throw Error(ErrorKind::data, place, "line too long (expected less than 1 MiB)");
    }
    const auto length = input.gcount() - (input.eof() ? 0 : 1);  // without the newline
    const std::string text(line.data(), static_cast<size_t>(length));
    if (text.find_first_not_of(" \t\r") != std::string::npos) answers.answer(text, place);
  }
  if (input.bad()) throw Error(ErrorKind::io, {name, 0, ""}, "cannot read");
}

}  // namespace

int run_predict(const PredictArguments& arguments, const Invocation& /*call*/) {
  // One thread: a single row is too little work for several threads.
  auto policy = load_policy(arguments.run, {.warn = print_note, .threads = 1});
  Answers answers(policy);
  if (arguments.obs) {
    answers.answer(*arguments.obs, {"--obs", 0, ""});
  } else if (arguments.input) {
    std::ifstream file(*arguments.input);
    if (!file || std::filesystem::is_directory(*arguments.input)) {
      const auto reason = file ? "is a directory" : std::strerror(errno);
      throw Error(ErrorKind::io, {*arguments.input, 0, ""}, std::string("cannot read: ") + reason);
    }
    answer_lines(answers, file, *arguments.input);
  } else {
    if (::isatty(STDIN_FILENO) == 1) {
      print_note("reading observations from the terminal, one JSON array per line; Ctrl-D ends");
    }
    answer_lines(answers, std::cin, "stdin");
  }
  return 0;
}

void add_predict(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<PredictArguments>();
  auto* command = add_command(
      program, call, "predict",
      "Print {\"action\":[...]} for observations: JSON arrays, one per line, from stdin or a "
      "file.\n"
      "The lines are the steps of one episode; {\"obs\":[...],\"reward\":r} also passes the\n"
      "reward of the previous step, for policies with memory",
      "  rl_training predict RUN --obs '[1.0, 0.0, 0.0]'\n"
      "  rl_training predict RUN/checkpoints/best --input observations.jsonl\n"
      "  sensor | rl_training predict RUN | motor",
      [arguments, &call] { return tensor_commands(call).predict(*arguments, call); });
  add_run_argument(*command, arguments->run);
  auto* obs = command->add_option("--obs", arguments->obs, "one observation")->type_name("ARRAY");
  command->add_option("--input", arguments->input, "file with one observation per line")
      ->excludes(obs)
      ->type_name("FILE");
}

}  // namespace rl_training
