#include <fmt/format.h>
#include <unistd.h>

#include "bench/turns.h"
#include "cli/arguments.h"
#include "cli/bench_envs.h"
#include "cli/output.h"
#include "rl_training/models/kernels.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

struct BenchArguments {
  std::string peer;  // path of bench/eager_td3_bc.py
  NumberArgument rounds, updates;
  bool envs = false;

  int64_t round_count() const { return rounds.given() ? rounds.read("rounds", at_least(1)) : 5; }
};

Json measure(const BenchSize& size, int threads, double fma_gflops,
             const BenchArguments& arguments) {
  std::vector<Entry> entries;
  entries.push_back({make_ours(size, threads), "ours"});
  entries.push_back({make_products_only(size, threads), "products"});
  if (!arguments.peer.empty()) {
    const auto add_peer = [&](int torch_threads, int blas_threads) {
      entries.push_back(
          {make_eager_torch(size, arguments.peer, torch_threads, blas_threads),
           fmt::format("eager PyTorch ({} torch, {} BLAS threads)", torch_threads, blas_threads)});
    };
    add_peer(1, 1);
    if (threads > 1) {
      add_peer(threads, 1);
      add_peer(1, threads);
    }
  }
  const int64_t updates =
      arguments.updates.given() ? arguments.updates.read("updates", at_least(1)) : 300;
  take_turns(entries, arguments.round_count(), updates, std::chrono::milliseconds(200));

  Json result = {
      {"name", fmt::format("td3_bc update, hidden {0}-{0}, batch {1}, obs {2}, action {3}",
                           size.hidden, size.batch, size.obs_dim, size.action_dim)},
      {"threads", threads},
      {"ours", median(entries[0].rates)},
      {"peer", nullptr},
      {"peer_name", nullptr},
      {"products_only", median(entries[1].rates)},
      {"fma_limit", fma_gflops * 1e9 / size.flops()},
      {"unit", "updates/s"}};
  for (size_t i = 2; i < entries.size(); ++i) {  // the peer at its best setting
    const double rate = median(entries[i].rates);
    if (result["peer"].is_null() || rate > result["peer"].get<double>()) {
      result["peer"] = rate;
      result["peer_name"] = entries[i].name;
    }
  }
  return result;
}

void run_bench(const BenchArguments& arguments, bool json) {
  if (!arguments.peer.empty() && access(arguments.peer.c_str(), R_OK) != 0) {
    throw Error(ErrorKind::io, {arguments.peer, 0, "--peer"}, "no such file");
  }
  const int cores = available_cores();
  Json results = Json::array();
  std::vector<std::vector<std::string>> rows;
  double one_core_gflops = 0;
  for (const int threads : cores > 1 ? std::vector<int>{1, cores} : std::vector<int>{1}) {
    const double gflops = fma_limit_gflops(threads);
    if (threads == 1) one_core_gflops = gflops;
    for (const int64_t hidden : {256, 64}) {
      BenchSize size;
      size.hidden = hidden;
      print_note(fmt::format("measuring hidden {}, {} thread{} ...", hidden, threads,
                             threads == 1 ? "" : "s"));
      const Json result = measure(size, threads, gflops, arguments);
      const double ours = result["ours"].get<double>();
      const bool has_peer = !result["peer"].is_null();
      rows.push_back({std::to_string(hidden), std::to_string(threads), fmt::format("{:.0f}", ours),
                      has_peer ? fmt::format("{:.0f}", result["peer"].get<double>()) : "-",
                      has_peer ? fmt::format("{:.2f}x", ours / result["peer"].get<double>()) : "-",
                      fmt::format("{:.0f}", result["products_only"].get<double>()),
                      fmt::format("{:.0f}", result["fma_limit"].get<double>()),
                      has_peer ? result["peer_name"].get<std::string>() : "-"});
      results.push_back(result);
    }
  }
  if (json) {
    print_json(
        {{"machine", {{"cores", cores}, {"isa", kernels().name}, {"fma_gflops", one_core_gflops}}},
         {"results", results}});
    return;
  }
  print(fmt::format("TD3+BC updates a second; batch 256, obs 17, action 6; {} cores, {}, FMA limit "
                    "{:.0f} GFLOP/s on one\n",
                    cores, kernels().name, one_core_gflops) +
        text_table(rows, {"hidden", "threads", "ours", "PyTorch", "ratio", "products alone",
                          "FMA limit", "PyTorch setting"}));
}

}  // namespace

void add_bench(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<BenchArguments>();
  auto* command = add_command(program, call, "bench",
                              "Measure the speed of an update beside its limits and a peer, or "
                              "the speed of the environments",
                              "  rl_training bench\n"
                              "  rl_training bench --peer bench/eager_td3_bc.py --json\n"
                              "  rl_training bench --envs --rounds 9",
                              [arguments, &call] {
                                if (arguments->envs) {
                                  run_env_bench(arguments->round_count(), call.json);
                                } else {
                                  run_bench(*arguments, call.json);
                                }
                                return 0;
                              });
  command->add_flag("--envs", arguments->envs,
                    "steps a second of every environment, beside MuJoCo alone");
  command->add_option("--peer", arguments->peer, "script of the eager PyTorch version")
      ->type_name("FILE");
  command->add_option("--rounds", arguments->rounds.text, "rounds in which contenders take turns")
      ->type_name("N");
  command->add_option("--updates", arguments->updates.text, "updates in a turn")->type_name("N");
}

}  // namespace rl_training
