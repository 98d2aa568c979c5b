#include <fmt/format.h>
#include <unistd.h>

#include "bench/turns.h"
#include "cli/arguments.h"
#include "cli/bench_checkpoints.h"
#include "cli/bench_envs.h"
#include "cli/bench_scaling.h"
#include "cli/output.h"
#include "cli/tensor_commands.h"
#include "rl_training/algorithms/registry.h"
#include "rl_training/models/kernels.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {

struct BenchArguments {
  std::string algo;  // a name or "all"; empty: TD3+BC compared with its limits
  std::string peer;  // path of bench/eager.py
  NumberArgument rounds, updates;
  NumberArgument latency_us, bandwidth_mbit;  // of a network other than this machine's
  bool envs = false, checkpoints = false, scaling_model = false;
  std::string env;  // one of them

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
  int64_t update_count(int64_t by_default) const {
    return updates.given() ? updates.read("updates", at_least(1)) : by_default;
  }
};

namespace {

constexpr std::chrono::milliseconds kPause(200);

void add_peer(std::vector<Entry>& entries, const BenchWork& work, const BenchArguments& arguments,
              int torch_threads, int blas_threads) {
  if (arguments.peer.empty()) return;
  entries.push_back(
      {make_eager_torch(work, arguments.peer, torch_threads, blas_threads),
       fmt::format("eager PyTorch ({} torch, {} BLAS threads)", torch_threads, blas_threads)});
}

// The result for our entry and for the peers starting at `first_peer`.
Json result_of(const BenchWork& work, int threads, const std::vector<Entry>& entries,
               size_t first_peer) {
  Json result = {{"name", work.name()},  {"threads", threads},   {"ours", median(entries[0].rates)},
                 {"peer", nullptr},      {"peer_name", nullptr}, {"products_only", nullptr},
                 {"fma_limit", nullptr}, {"unit", "updates/s"}};
  for (size_t i = first_peer; i < entries.size(); ++i) {  // the peer at its best setting
    const double rate = median(entries[i].rates);
    if (result["peer"].is_null() || rate > result["peer"].get<double>()) {
      result["peer"] = rate;
      result["peer_name"] = entries[i].name;
    }
  }
  return result;
}

// TD3+BC compared with the matrix products alone and the processor's limit.
Json measure_limits(int64_t hidden, int threads, double fma_gflops,
                    const BenchArguments& arguments) {
  BenchWork work("td3_bc");
  work.options->hidden_sizes = {hidden, hidden};
  Td3BcProducts products;
  products.hidden = hidden;
  std::vector<Entry> entries;
  entries.push_back({make_ours(work, threads), "ours"});
  entries.push_back({make_products_only(products, threads), "products"});
  add_peer(entries, work, arguments, 1, 1);
  if (threads > 1) {
    add_peer(entries, work, arguments, threads, 1);
    add_peer(entries, work, arguments, 1, threads);
  }
  take_turns(entries, arguments.round_count(), arguments.update_count(300), kPause);
  Json result = result_of(work, threads, entries, 2);
  result["products_only"] = median(entries[1].rates);
  result["fma_limit"] = fma_gflops * 1e9 / products.flops();
  return result;
}

// Any algorithm at its default sizes on one core.
Json measure_algorithm(const std::string& algo, const BenchArguments& arguments) {
  const BenchWork work(algo);
  std::vector<Entry> entries;
  entries.push_back({make_ours(work, 1), "ours"});
  add_peer(entries, work, arguments, 1, 1);
  take_turns(entries, arguments.round_count(), arguments.update_count(50), kPause);
  return result_of(work, 1, entries, 1);
}

std::string rate_text(const Json& rate) {
  return rate.is_null() ? "-" : fmt::format("{:.0f}", rate.get<double>());
}

std::string ratio_text(const Json& result) {
  if (result["peer"].is_null()) return "-";
  return fmt::format("{:.2f}x", result["ours"].get<double>() / result["peer"].get<double>());
}

std::string text_of(const Json& name) { return name.is_null() ? "-" : name.get<std::string>(); }

void print_results(const Json& results, double fma_gflops) {
  print_json({{"machine",
               {{"cores", available_cores()}, {"isa", kernels().name}, {"fma_gflops", fma_gflops}}},
              {"results", results}});
}

// The peer implements the algorithms that learn offline from single transitions, and two others.
bool peer_has(const AlgorithmInfo& info) {
  if (info.name == "dqn" || info.name == "ppo") return true;
  const auto options = info.make_options();
  return options->phases(1).front().source == PhaseSpec::Source::data &&
         options->collect() == nullptr && options->request().window == 0 &&
         !options->request().priorities.used;
}

// Algorithms to measure; unsupported ones are rejected before the first measurement.
std::vector<std::string> names_of(const BenchArguments& arguments) {
  const bool with_peer = !arguments.peer.empty();
  if (arguments.algo != "all") {
    if (with_peer && !peer_has(find_algorithm(arguments.algo))) {
      throw Error(ErrorKind::config, {"", 0, "--peer"},
                  "it has no PyTorch version (expected an offline algorithm that learns from "
                  "transitions, dqn or ppo, got " +
                      arguments.algo + ")");
    }
    if (find_algorithm(arguments.algo).image_observations) {
      throw Error(ErrorKind::config, {"", 0, "--algo"},
                  "updates are measured with vector observations (expected an algorithm that "
                  "supports them, got " +
                      arguments.algo + ")");
    }
    return {find_algorithm(arguments.algo).name};
  }
  std::vector<std::string> names;
  for (const auto& info : algorithms()) {
    if (info.image_observations) continue;
    if (!with_peer || peer_has(info)) names.push_back(info.name);
  }
  return names;
}

void bench_algorithms(const BenchArguments& arguments, bool json) {
  const auto names = names_of(arguments);
  const double gflops = fma_limit_gflops(1);
  Json results = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& name : names) {
    print_note("measuring " + name + " ...");
    const Json result = measure_algorithm(name, arguments);
    rows.push_back({result["name"].get<std::string>(),
                    fmt::format("{:.1f}", result["ours"].get<double>()), rate_text(result["peer"]),
                    ratio_text(result)});
    results.push_back(result);
  }
  if (json) return print_results(results, gflops);
  print(fmt::format("updates per second on one core; {}, FMA limit {:.0f} GFLOP/s\n",
                    kernels().name, gflops) +
        text_table(rows, {"work", "ours", "PyTorch", "ratio"}));
}

void bench_limits(const BenchArguments& arguments, bool json) {
  const int cores = available_cores();
  Json results = Json::array();
  std::vector<std::vector<std::string>> rows;
  double one_core_gflops = 0;
  for (const int threads : cores > 1 ? std::vector<int>{1, cores} : std::vector<int>{1}) {
    const double gflops = fma_limit_gflops(threads);
    if (threads == 1) one_core_gflops = gflops;
    for (const int64_t hidden : {256, 64}) {
      print_note(fmt::format("measuring hidden {}, {} thread{} ...", hidden, threads,
                             threads == 1 ? "" : "s"));
      const Json result = measure_limits(hidden, threads, gflops, arguments);
      rows.push_back({std::to_string(hidden), std::to_string(threads), rate_text(result["ours"]),
                      rate_text(result["peer"]), ratio_text(result),
                      rate_text(result["products_only"]), rate_text(result["fma_limit"]),
                      text_of(result["peer_name"])});
      results.push_back(result);
    }
  }
  if (json) return print_results(results, one_core_gflops);
  print(
      fmt::format("TD3+BC updates per second; batch 256, obs 17, action 6; {} cores, {}, FMA limit "
                  "{:.0f} GFLOP/s on one\n",
                  cores, kernels().name, one_core_gflops) +
      text_table(rows, {"hidden", "threads", "ours", "PyTorch", "ratio", "products alone",
                        "FMA limit", "PyTorch setting"}));
}

void bench_updates(const BenchArguments& arguments, bool json) {
  if (!arguments.peer.empty() && access(arguments.peer.c_str(), R_OK) != 0) {
    throw Error(ErrorKind::io, {arguments.peer, 0, "--peer"}, "no such file");
  }
  if (arguments.algo.empty()) {
    bench_limits(arguments, json);
  } else {
    bench_algorithms(arguments, json);
  }
}

}  // namespace

int run_bench(const BenchArguments& arguments, const Invocation& call) {
  if (arguments.scaling_model) {
    run_scaling_model(arguments.algo, arguments.round_count(), arguments.network(), call.json);
  } else if (arguments.checkpoints) {
    run_checkpoint_bench(arguments.algo, arguments.round_count(), call.json);
  } else if (arguments.envs || !arguments.env.empty()) {
    run_env_bench(arguments.env, arguments.round_count(), call.json);
  } else {
    bench_updates(arguments, call.json);
  }
  return 0;
}

void add_bench(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<BenchArguments>();
  auto* command =
      add_command(program, call, "bench",
                  "Measure the speed of updates, compared with hardware limits and PyTorch, or of "
                  "the environments",
                  "  rl_training bench\n"
                  "  rl_training bench --peer bench/eager.py --json\n"
                  "  rl_training bench --algo all --peer bench/eager.py\n"
                  "  rl_training bench --envs --rounds 9\n"
                  "  rl_training bench --env Hopper-v4\n"
                  "  rl_training bench --checkpoints --algo td3_bc\n"
                  "  rl_training bench --scaling-model --algo rebrac\n"
                  "  rl_training bench --scaling-model --latency-us 30 --bandwidth-mbit 10000",
                  [arguments, &call] { return tensor_commands(call).bench(*arguments, call); });
  command->add_flag("--envs", arguments->envs,
                    "steps per second of every environment, compared with MuJoCo alone");
  command->add_flag("--checkpoints", arguments->checkpoints,
                    "time of a checkpoint, and its share of a run at the default interval");
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
      ->add_option("--peer", arguments->peer,
                   "Python script that runs the same update in eager PyTorch (offline algorithms)")
      ->type_name("FILE");
  command->add_option("--rounds", arguments->rounds.text, "rounds of alternating measurements")
      ->type_name("N");
  command->add_option("--updates", arguments->updates.text, "updates per turn")->type_name("N");
}

}  // namespace rl_training
