#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/arguments.h"
#include "cli/output.h"
#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/experiment/compare_runs.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/experiment/yaml_writer.h"
#include "rl_training/sweep/child_process.h"
#include "rl_training/util/scratch_directory.h"

namespace rl_training {
namespace {

constexpr int64_t kDefaultLength = 2000;

struct VerifyArguments {
  ConfigArguments config;
  NumberArgument total_timesteps, threads;
  std::optional<std::string> output_dir;
};

// The user's config with a short length and short intervals, so that checkpoints, evaluations and
// log rows occur within that length.
TrainConfig short_config(const VerifyArguments& arguments) {
  auto config = read_train_config(arguments.config.load());
  const int64_t length = arguments.total_timesteps.given()
                             ? arguments.total_timesteps.read("--total-timesteps", at_least(64))
                             : std::min(config.total_timesteps, kDefaultLength);
  if (arguments.threads.given()) {
    config.threads = arguments.threads.read("--threads", kThreadRange);
  }
  config.total_timesteps = length;
  config.online.total_timesteps = std::min(config.online.total_timesteps, length);
  config.checkpoint_interval = std::max<int64_t>(1, length / 16);
  config.eval_interval = std::min(config.eval_interval, std::max<int64_t>(1, length / 4));
  config.log_interval = std::min(config.log_interval, std::max<int64_t>(1, length / 20));
  return config;
}

// The directory of both runs. A directory that the user names must be new or empty, and is kept. A
// temporary directory is removed unless the runs differ.
class ProofDirectory {
 public:
  explicit ProofDirectory(const std::optional<std::string>& given) {
    path = given ? *given : scratch_.emplace().path();
    if (!given) return;
    auto& files = posix_file_system();
    files.make_directories(path);
    if (files.list_directory(path).empty()) return;
    throw Error(ErrorKind::io, {path, 0, ""}, "is not empty (expected a new directory)");
  }

  bool stays() const { return !scratch_; }
  void keep() {
    if (scratch_) scratch_->release();
    scratch_.reset();
  }

  std::string path;

 private:
  std::optional<ScratchDirectory> scratch_;
};

void require_success(ChildProcess& process, const std::string& what) {
  const int code = process.wait();
  if (code == 0) return;
  const auto line = process.error_line();
  const bool known = code >= 1 && code <= 6;
  throw Error(known ? static_cast<ErrorKind>(code) : ErrorKind::internal,
              what + ": " + (line.empty() ? fmt::format("ended with exit code {}", code) : line));
}

// The directory of the only run below `output_dir`; "" if it does not exist yet.
std::string run_in(const std::string& output_dir) {
  for (const auto& name : posix_file_system().list_directory(output_dir)) {
    if (!name.starts_with(".")) return output_dir + "/" + name;
  }
  return "";
}

int64_t newest_step(const std::string& run) {
  if (run.empty()) return -1;
  const auto steps = CheckpointStore(posix_file_system(), run + "/checkpoints").list();
  return steps.empty() ? -1 : steps.back().step;
}

// Trains in a separate process and kills it with SIGKILL once a checkpoint of `step` or a later
// step exists. Returns the step of the newest checkpoint.
int64_t train_and_kill(const std::vector<std::string>& arguments, const std::string& output_dir,
                       const std::string& log, int64_t step) {
  ChildProcess process(arguments, log);
  while (!process.ended() && newest_step(run_in(output_dir)) < step) ::poll(nullptr, 0, 1);
  process.send(SIGKILL);
  if (process.wait() != 128 + SIGKILL) {
    require_success(process, "train");
    throw Error(ErrorKind::config, {"--total-timesteps", 0, ""},
                "the run ended before it could be killed (expected a longer run)");
  }
  return newest_step(run_in(output_dir));
}

void print_verdict(const RunComparison& result, int64_t killed_at, const std::string& kept) {
  std::vector<std::vector<std::string>> rows = {
      {"length", std::to_string(result.step)},
      {"killed (kill -9) after checkpoint", std::to_string(killed_at)},
      {"arrays compared", fmt::format("{} ({} values)", result.arrays, result.values)},
      {"rows of metrics compared", std::to_string(result.rows)},
      {"verdict", result.equal() ? "equal, byte for byte" : "DIFFERENT"}};
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(kShown, result.differences.size()); ++i) {
    rows.push_back({i == 0 ? "differences" : "", result.differences[i]});
  }
  if (result.differences.size() > kShown) {
    rows.push_back({"", fmt::format("and {} more", result.differences.size() - kShown)});
  }
  if (!kept.empty()) rows.push_back({"runs", kept});
  print(text_table(rows));
}

int run_verify(const VerifyArguments& arguments, const Invocation& call) {
  const auto config = short_config(arguments);
  ProofDirectory proof(arguments.output_dir);
  const auto& directory = proof.path;
  const auto config_file = directory + "/config.yaml";
  posix_file_system().write_file(config_file, write_yaml(write_train_config(config)));
  const auto train = [&](const std::string& output_dir) {
    return std::vector<std::string>{"train",        "--config", config_file,
                                    "--output-dir", output_dir, "--quiet"};
  };
  const auto straight = directory + "/straight", killed = directory + "/killed";
  const auto log = directory + "/output.txt";
  print_note("training without interruption ...");
  ChildProcess uninterrupted(train(straight), log);
  require_success(uninterrupted, "train");
  print_note("training half of it, then kill -9 ...");
  const int64_t half = newest_step(run_in(straight)) / 2;
  const int64_t killed_at = train_and_kill(train(killed), killed, log, half);
  print_note("resuming ...");
  ChildProcess resumed({"resume", run_in(killed), "--quiet"}, log);
  require_success(resumed, "resume");

  const auto result = compare_runs(run_in(straight), run_in(killed));
  if (!result.equal()) proof.keep();
  if (call.json) {
    print_json({{"equal", result.equal()},
                {"length", result.step},
                {"killed_at", killed_at},
                {"arrays", result.arrays},
                {"values", result.values},
                {"rows", result.rows},
                {"differences", result.differences},
                {"runs", proof.stays() ? Json(directory) : Json()}});
  } else {
    print_verdict(result, killed_at, proof.stays() ? directory : "");
  }
  return result.equal() ? 0 : Error(ErrorKind::checkpoint, "").exit_code();
}

}  // namespace

void add_verify_resume(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<VerifyArguments>();
  auto* command = add_command(
      program, call, "verify-resume",
      "Check that a run of this config, killed and resumed, equals an uninterrupted one",
      "  rl_training verify-resume td3_bc/pendulum\n"
      "  rl_training verify-resume my.yaml --total-timesteps 20000 --output-dir proof",
      [arguments, &call] { return run_verify(*arguments, call); });
  arguments->config.add_to(*command, "CONFIG");
  command
      ->add_option("--total-timesteps", arguments->total_timesteps.text,
                   "length of the runs (2000, or the config's if smaller)")
      ->type_name("N");
  command
      ->add_option("--output-dir", arguments->output_dir,
                   "a new directory for the runs; otherwise they are removed")
      ->type_name("DIR");
  add_threads(*command, arguments->threads);
}

}  // namespace rl_training
