#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/greedy_policy.h"
#include "cli/output.h"
#include "rl_training/data/d4rl.h"
#include "rl_training/data/inspect.h"
#include "rl_training/data/npz.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/experiment/dataset_source.h"
#include "rl_training/experiment/trained_policy.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// How a file is to be read; the same words as in a config.
struct ReadArguments {
  std::string path, kind = "auto", env_id, timeout_policy = "auto", columns;
  bool allow_nonfinite = false;
  ActionBounds bounds;

  void add_to(CLI::App& command) {
    auto kinds = dataset_file_kinds();
    kinds.insert(kinds.begin(), "auto");
    command.add_option("FILE", path, "dataset file, or directory or id of a Minari dataset")
        ->required()
        ->type_name("");
    command.add_option("--kind", kind, "format: " + join(kinds, ", "))
        ->check(CLI::IsMember(kinds))
        ->type_name("KIND");
    command.add_option("--env", env_id, "environment whose bounds the actions are scaled by")
        ->type_name("ID");
    command.add_option("--timeout-policy", timeout_policy, "auto, drop or keep")
        ->check(CLI::IsMember({"auto", "drop", "keep"}))
        ->type_name("POLICY");
    command.add_option("--csv-columns", columns, "which column of a csv file is what")
        ->type_name("MAP");
    command.add_flag("--allow-nonfinite", allow_nonfinite, "let NaN and infinities through");
  }

  DatasetReadOptions options() {
    DatasetReadOptions read;
    if (!env_id.empty()) {
      const EnvSpec env = make_environment(env_id)->spec();
      bounds = env.action;
      read.bounds = &bounds;
      read.episode_length = env.max_episode_steps;
    }
    if (timeout_policy == "drop") read.timeout_policy = TimeoutPolicy::drop;
    if (timeout_policy == "keep") read.timeout_policy = TimeoutPolicy::keep;
    read.columns = columns;
    read.allow_nonfinite = allow_nonfinite;
    return read;
  }
};

std::string range_text(const ValueRange& range) {
  return fmt::format("{:g} .. {:g}, mean {:g}, std {:g}", range.min, range.max, range.mean,
                     range.std);
}

void print_report(const DatasetReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"kind", report.kind},
      {"rows", fmt::format("{} in {} episodes", report.file.rows, report.file.episodes)},
      {"usable transitions",
       fmt::format("{} (timeout_policy {})", report.transitions,
                   report.timeout_policy == TimeoutPolicy::drop ? "drop" : "keep")},
      {"ends",
       fmt::format("{} terminal, {} by time-out", report.file.terminals, report.file.timeouts)},
      {"next observations", report.file.has_next_observations ? "stored" : "from the next row"},
      {"episode return", range_text(report.episode_return)},
      {"episode length", range_text(report.episode_length)},
      {"reward", range_text(report.reward)}};
  const auto add_ranges = [&](const char* name, const std::vector<ValueRange>& ranges) {
    for (size_t i = 0; i < ranges.size(); ++i) {
      rows.push_back({fmt::format("{} {}", name, i), range_text(ranges[i])});
    }
  };
  add_ranges("observation", report.obs);
  add_ranges("action", report.actions);
  rows.push_back({"fingerprint", report.fingerprint});
  for (const auto& warning : report.warnings) {
    rows.push_back({"warning " + warning.code,
                    warning.message + (warning.row ? fmt::format(" (row {})", *warning.row) : "")});
  }
  print(text_table(rows));
}

void add_inspect(CLI::App& parent, Invocation& call) {
  auto read = std::make_shared<ReadArguments>();
  auto* command = add_command(
      parent, call, "inspect", "Tell what a dataset holds and what looks wrong with it",
      "  rl_training dataset inspect hopper_medium-v2.hdf5\n"
      "  rl_training dataset inspect log.csv --csv-columns 'obs=x,v action=u reward=r' --json",
      [read, &call] {
        const auto report = inspect_dataset(read->kind, read->path, read->options());
        call.json ? print_json(report.to_json()) : print_report(report);
        return 0;
      });
  read->add_to(*command);
}

// The writer is chosen by the name of the file.
void save_dataset(const TransitionDataset& dataset, const std::string& path,
                  const Invocation& call) {
  if (path.ends_with(".npz")) {
    save_npz_dataset(dataset, path);
  } else if (path.ends_with(".hdf5") || path.ends_with(".h5")) {
    save_d4rl_dataset(dataset, path);
  } else {
    throw Error(ErrorKind::config, {path, 0, ""},
                "unknown format of the output (expected a name that ends in .npz, .hdf5 or .h5)");
  }
  const Json report = {{"path", path},
                       {"rows", dataset.rows()},
                       {"episodes", dataset.episodes().size()},
                       {"return_mean", json_number(dataset.mean_return())},
                       {"fingerprint", dataset.fingerprint()}};
  if (call.json) return print_json(report);
  print(fmt::format("{}: {} rows, {} episodes, mean return {:.1f}; actions in [-1, 1]\n", path,
                    dataset.rows(), dataset.episodes().size(), dataset.mean_return()));
}

void add_convert(CLI::App& parent, Invocation& call) {
  auto read = std::make_shared<ReadArguments>();
  auto out = std::make_shared<std::string>();
  auto* command = add_command(
      parent, call, "convert", "Read a dataset in one format and write it in another",
      "  rl_training dataset convert hopper_medium-v2.hdf5 hopper.npz\n"
      "  rl_training dataset convert log.csv log.hdf5 --env Pendulum-v1",
      [read, out, &call] {
        save_dataset(load_dataset_file(read->kind, read->path, read->options()), *out, call);
        return 0;
      });
  read->add_to(*command);
  command->add_option("OUT", *out, "file to write: .npz, or .hdf5 in D4RL's layout")
      ->required()
      ->type_name("");
}

struct CollectArguments {
  std::string env_id, run, out;
  NumberArgument size{"10000"}, seed{"0"};
};

TransitionDataset collect(const CollectArguments& arguments) {
  const auto size = arguments.size.read("--size", between(1, 1e9));
  const auto seed = static_cast<uint64_t>(arguments.seed.read("--seed", at_least(0)));
  if (arguments.run.empty()) return random_dataset(arguments.env_id, size, seed);
  TrainedPolicy policy(find_checkpoint(arguments.run, print_note));
  const auto env = arguments.env_id.empty() ? make_environment(policy.env().id, policy.config().env)
                                            : make_environment(arguments.env_id);
  return collect_dataset(*env, greedy_policy(policy), size, Rng(seed, "collect"));
}

void add_collect(CLI::App& parent, Invocation& call) {
  auto arguments = std::make_shared<CollectArguments>();
  auto* command = add_command(
      parent, call, "collect", "Record transitions of a random or a trained policy",
      "  rl_training dataset collect random.npz --env Hopper-v4 --size 100000\n"
      "  rl_training dataset collect expert.hdf5 --policy RUN --size 20000",
      [arguments, &call] {
        if (arguments->env_id.empty() && arguments->run.empty()) {
          throw Error(ErrorKind::config, {"", 0, "--env"},
                      "missing (expected --env ID for random actions, or --policy RUN)");
        }
        save_dataset(collect(*arguments), arguments->out, call);
        return 0;
      });
  command->add_option("OUT", arguments->out, "file to write: .npz, or .hdf5 in D4RL's layout")
      ->required()
      ->type_name("");
  command->add_option("--env", arguments->env_id, "environment to act in")->type_name("ID");
  command
      ->add_option("--policy", arguments->run, "run or checkpoint; without it actions are random")
      ->type_name("RUN");
  command->add_option("--size", arguments->size.text, "rows to record")->type_name("N");
  command->add_option("--seed", arguments->seed.text, "seed of resets and actions")->type_name("N");
}

}  // namespace

void add_dataset(CLI::App& program, Invocation& call) {
  auto* group = program.add_subcommand("dataset", "Look at, convert and record datasets");
  add_inspect(*group, call);
  add_convert(*group, call);
  add_collect(*group, call);
}

}  // namespace rl_training
