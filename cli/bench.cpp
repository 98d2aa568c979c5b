#include "cli/arguments.h"
#include "cli/bench_envs.h"
#include "cli/bench_evaluation.h"
#include "cli/bench_overhead.h"
#include "cli/bench_scaling.h"
#include "cli/bench_updates.h"
#include "cli/tensor_commands.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {

struct BenchArguments {
  std::string algo;  // a name or "all"; empty: each kind of benchmark has its own default
  std::vector<std::string> peers;
  std::vector<int64_t> hidden;
  NumberArgument rounds, updates, threads;
  NumberArgument latency_us, bandwidth_mbit;  // the network that --scaling-model assumes
  bool envs = false, overhead = false, scaling_model = false;
  std::string env;         // --env: measures only this environment; implies --envs
  std::string evaluation;  // --evaluation: a run or a checkpoint

  NetworkFigures network() const {
    NetworkFigures figures;
    if (latency_us.given()) {
      figures.latency_us = static_cast<double>(latency_us.read("--latency-us", at_least(1)));
    }
    if (bandwidth_mbit.given()) {
      figures.bandwidth_mbit =
          static_cast<double>(bandwidth_mbit.read("--bandwidth-mbit", at_least(1)));
    }
    return figures;
  }
  int64_t round_count() const { return rounds.given() ? rounds.read("rounds", at_least(1)) : 5; }
  UpdateBench update_bench() const {
    UpdateBench bench{.algo = algo, .hidden = hidden, .peers = peers, .rounds = round_count()};
    if (threads.given()) {
      const int64_t wanted = threads.read("--threads", kThreadRange);
      bench.threads = wanted == 0 ? available_cores() : static_cast<int>(wanted);
    }
    if (updates.given()) bench.updates = updates.read("--updates", at_least(1));
    return bench;
  }
};

int run_bench(const BenchArguments& arguments, const Invocation& call) {
  if (arguments.scaling_model) {
    run_scaling_model(arguments.algo, arguments.round_count(), arguments.network(), call.json);
  } else if (arguments.overhead) {
    const int64_t updates =
        arguments.updates.given() ? arguments.updates.read("--updates", at_least(20)) : 300;
    run_overhead_bench(arguments.algo, updates, arguments.round_count(), call.json);
  } else if (!arguments.evaluation.empty()) {
    run_evaluation_bench(arguments.evaluation, arguments.round_count(), call.json);
  } else if (arguments.envs || !arguments.env.empty()) {
    run_env_bench(arguments.env, arguments.round_count(), call.json);
  } else {
    run_update_bench(arguments.update_bench(), call.json);
  }
  return 0;
}

void add_bench(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<BenchArguments>();
  auto* command =
      add_command(program, call, "bench",
                  "Measure the speed of updates, compared with hardware limits and other "
                  "libraries, or of the environments",
                  "  rl_training bench\n"
                  "  rl_training bench --peer bench/eager.py --json\n"
                  "  rl_training bench --algo all --peer bench/eager.py\n"
                  "  rl_training bench --algo sac --threads 2 --peer bench/eager.py "
                  "--peer 'build/peers/bin/python bench/jax_peer.py'\n"
                  "  rl_training bench --envs --rounds 9\n"
                  "  rl_training bench --env Hopper-v4\n"
                  "  rl_training bench --overhead --algo td3_bc\n"
                  "  rl_training bench --evaluation RUN\n"
                  "  rl_training bench --scaling-model --algo rebrac\n"
                  "  rl_training bench --scaling-model --latency-us 30 --bandwidth-mbit 10000",
                  [arguments, &call] { return tensor_commands(call).bench(*arguments, call); });
  command->add_flag("--envs", arguments->envs,
                    "steps per second of every environment, compared with MuJoCo alone");
  command->add_flag("--overhead", arguments->overhead,
                    "time of sampling, metrics, evaluations and checkpoints at the default "
                    "intervals, relative to the updates");
  command
      ->add_option("--evaluation", arguments->evaluation,
                   "speed of evaluating this run or checkpoint: 10 episodes together, compared "
                   "with one after another")
      ->type_name("RUN");
  command->add_flag("--scaling-model", arguments->scaling_model,
                    "predict the efficiency of several processes for one run, and of many runs");
  command
      ->add_option("--latency-us", arguments->latency_us.text,
                   "for the model: latency of a message in microseconds (default: measured)")
      ->type_name("N");
  command
      ->add_option("--bandwidth-mbit", arguments->bandwidth_mbit.text,
                   "for the model: bandwidth in megabits per second (default: measured)")
      ->type_name("N");
  command->add_option("--env", arguments->env, "measure only this environment")->type_name("ID");
  command
      ->add_option("--algo", arguments->algo, "algorithm to measure at its default sizes, or all")
      ->type_name("NAME");
  command
      ->add_option("--hidden", arguments->hidden,
                   "with --algo: widths of the hidden layers instead of its default")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 16))
      ->type_name("N,N,...");
  command
      ->add_option(
          "--peer", arguments->peers,
          "another implementation of the update: a script like bench/eager.py, or a command with "
          "its interpreter and arguments; may be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("COMMAND");
  command
      ->add_option("--threads", arguments->threads.text,
                   "with --algo: threads that each side may use, at its best setting; 0 uses all "
                   "cores (default 1)")
      ->type_name("N");
  command->add_option("--rounds", arguments->rounds.text, "rounds of alternating measurements")
      ->type_name("N");
  command
      ->add_option("--updates", arguments->updates.text,
                   "updates per turn; with --overhead: of the measured run (300)")
      ->type_name("N");
}

}  // namespace rl_training
