#include "cli/bench_updates.h"

#include <fmt/format.h>

#include "bench/peer.h"
#include "bench/turns.h"
#include "cli/output.h"
#include "rl_training/algorithms/registry.h"
#include "rl_training/models/kernels.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

constexpr std::chrono::milliseconds kPause(200);

// Compares the update rates of this program and of the peers, which are other implementations of
// the same algorithm, at every thread setting. The contenders run alternately.
class Comparison {
 public:
  Comparison(BenchWork work, int threads) : work_(std::move(work)), threads_(threads) {}

  void add_ours(int threads) {
    ours_.push_back({threads, entries_.size()});
    entries_.push_back({make_ours(work_, threads), "ours"});
  }

  // Adds a contender that is neither this program nor a peer. Returns its index for `rate`.
  size_t add(std::unique_ptr<Contender> contender, const std::string& name) {
    entries_.push_back({std::move(contender), name});
    return entries_.size() - 1;
  }

  // Starts all peers at the same time, then waits for each of them. Skips a peer that fails to
  // start, and prints a note.
  void add_peers(const std::vector<std::string>& commands) {
    std::vector<ThreadSetting> settings = {{1, 1}};
    if (threads_ > 1) settings.insert(settings.end(), {{threads_, 1}, {1, threads_}});
    struct Starting {
      std::string command;
      ThreadSetting setting;
      std::unique_ptr<Peer> peer;
    };
    std::vector<Starting> starting;
    for (const auto& command : commands) {
      for (const auto& setting : settings) {
        starting.push_back({command, setting, start_peer(work_, command, setting)});
      }
    }
    for (auto& [command, setting, peer] : starting) {
      try {
        const std::string title = peer->wait_for_title();
        if (title.empty()) continue;
        peer_settings_.push_back({command, title, setting, entries_.size()});
        entries_.push_back({std::move(peer), title, {}, /*may_fail=*/true});
      } catch (const Error& error) {
        failed(command, error.what());
      }
    }
  }

  void take_turns(int64_t rounds, int64_t updates) {
    rl_training::take_turns(entries_, rounds, updates, kPause);
    for (const auto& peer : peer_settings_) {
      if (!entries_[peer.entry].failure.empty()) failed(peer.command, entries_[peer.entry].failure);
    }
    if (!failures_.empty() && settings().size() == ours_.size()) {
      throw Error(ErrorKind::io, {"", 0, "--peer"}, "no peer could be measured");
    }
  }

  double rate(size_t entry) const { return median(entries_[entry].rates); }

  double flops_per_update() const {
    return entries_[ours_.front().entry].contender->flops_per_update();
  }

  // The rates at all thread settings: those of this program first, then those of the peers in the
  // order of their commands.
  Json settings() const {
    Json all = Json::array();
    for (const auto& ours : ours_) {
      all.push_back({{"name", "rl_training"},
                     {"rate", rate(ours.entry)},
                     {"threads", ours.threads},
                     {"blas_threads", 1}});
    }
    for (const auto& peer : peer_settings_) {
      if (!entries_[peer.entry].failure.empty()) continue;
      all.push_back({{"name", peer.title},
                     {"rate", rate(peer.entry)},
                     {"threads", peer.setting.own},
                     {"blas_threads", peer.setting.blas}});
    }
    return all;
  }

  // The fastest setting of each contender in `settings`. This program comes first.
  static Json best_of(const Json& settings) {
    Json all = Json::array();
    for (const auto& one : settings) {
      const bool known = !all.empty() && all.back()["name"] == one["name"];
      if (!known) {
        all.push_back(one);
      } else if (one["rate"] > all.back()["rate"]) {
        all.back() = one;
      }
    }
    return all;
  }

  Json result() const {
    const Json all = settings();
    Json best = best_of(all);
    const Json ours = best.front();
    best.erase(0);
    Json result = {{"name", work_.name()}, {"threads", threads_},
                   {"ours", ours["rate"]}, {"ours_threads", ours["threads"]},
                   {"peer", nullptr},      {"peer_name", nullptr},
                   {"peers", best},        {"settings", all},
                   {"failed", failures_},  {"products_only", nullptr},
                   {"fma_limit", nullptr}, {"unit", "updates/s"}};
    for (const auto& peer : result["peers"]) {
      if (!result["peer"].is_null() && peer["rate"] <= result["peer"]) continue;
      result["peer"] = peer["rate"];
      result["peer_name"] = peer["name"];
    }
    return result;
  }

 private:
  struct OursSetting {
    int threads;
    size_t entry;
  };
  struct PeerSetting {
    std::string command, title;
    ThreadSetting setting;
    size_t entry;
  };

  // Reports a failure of a peer once, not for every setting.
  void failed(const std::string& command, const std::string& reason) {
    if (!failures_.empty() && failures_.back()["command"] == command) return;
    print_note(fmt::format("left out {}: {}", command, reason));
    failures_.push_back({{"command", command}, {"reason", reason}});
  }

  BenchWork work_;
  int threads_;
  std::vector<Entry> entries_;
  std::vector<OursSetting> ours_;
  std::vector<PeerSetting> peer_settings_;
  Json failures_ = Json::array();
};

// Compares the speed of TD3+BC updates with two upper limits: the speed of their matrix products
// alone and the processor's FMA limit.
Json measure_limits(int64_t hidden, int threads, double fma_gflops, const UpdateBench& bench) {
  BenchWork work("td3_bc");
  work.options->hidden_sizes = {hidden, hidden};
  Td3BcProducts products;
  products.hidden = hidden;
  Comparison comparison(std::move(work), threads);
  comparison.add_ours(threads);
  const size_t products_only = comparison.add(make_products_only(products, threads), "products");
  comparison.add_peers(bench.peers);
  comparison.take_turns(bench.rounds, bench.updates.value_or(300));
  Json result = comparison.result();
  result["products_only"] = comparison.rate(products_only);
  result["fma_limit"] = fma_gflops * 1e9 / comparison.flops_per_update();
  return result;
}

// Compares this program's speed for an algorithm with that of the peers, each at its best number of
// threads, and with the processor's FMA limit. `core_gflops` is that limit for one core.
Json measure_algorithm(const std::string& algo, double core_gflops, const UpdateBench& bench) {
  BenchWork work(algo);
  if (!bench.hidden.empty()) work.options->hidden_sizes = bench.hidden;
  const int64_t updates = work.obs().is_image() ? 2 : 50;
  Comparison comparison(std::move(work), bench.threads);
  comparison.add_ours(1);
  if (bench.threads > 1) comparison.add_ours(bench.threads);
  comparison.add_peers(bench.peers);
  comparison.take_turns(bench.rounds, bench.updates.value_or(updates));
  Json result = comparison.result();
  const int threads = result["ours_threads"].get<int>();
  const double gflops = threads == 1 ? core_gflops : fma_limit_gflops(threads);
  if (const double flops = comparison.flops_per_update(); flops > 0) {
    result["fma_limit"] = gflops * 1e9 / flops;
  }
  return result;
}

std::string rate_text(const Json& rate) {
  if (rate.is_null()) return "-";
  const auto value = rate.get<double>();
  return fmt::format("{:.{}f}", value, value < 100 ? 1 : 0);
}

std::string share_of_limit(const Json& result) {
  if (result["fma_limit"].is_null()) return "-";
  return fmt::format("{:.0f} %",
                     100 * result["ours"].get<double>() / result["fma_limit"].get<double>());
}

// Adds one row per peer, or a single row if there are no peers. The first row begins with the cells
// `work`; in later rows, these cells are empty.
void add_rows(std::vector<std::vector<std::string>>& rows, std::vector<std::string> work,
              const Json& result) {
  const auto ours = result["ours"].get<double>();
  work.push_back(rate_text(result["ours"]));
  if (result["peers"].empty()) {
    work.insert(work.end(), {"-", "-", "-"});
    rows.push_back(work);
  }
  for (const auto& peer : result["peers"]) {
    work.insert(work.end(),
                {rate_text(peer["rate"]), fmt::format("{:.2f}x", ours / peer["rate"].get<double>()),
                 fmt::format("{} ({} threads, {} BLAS)", peer["name"].get<std::string>(),
                             peer["threads"].get<int>(), peer["blas_threads"].get<int>())});
    rows.push_back(work);
    work.assign(work.size() - 3, "");
  }
}

void print_results(const Json& results, double fma_gflops) {
  print_json({{"machine",
               {{"cores", available_cores()}, {"isa", kernels().name}, {"fma_gflops", fma_gflops}}},
              {"results", results}});
}

// The algorithms to measure. `all` leaves out algorithms that observe images, because their updates
// take seconds. Throws Error{config} if the algorithm is unknown.
std::vector<std::string> names_of(const UpdateBench& bench) {
  if (bench.algo != "all") return {find_algorithm(bench.algo).name};
  std::vector<std::string> names;
  for (const auto& info : algorithms()) {
    if (!info.image_observations) names.push_back(info.name);
  }
  return names;
}

void bench_algorithms(const UpdateBench& bench, bool json) {
  const auto names = names_of(bench);
  const double gflops = fma_limit_gflops(1);
  Json results = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& name : names) {
    print_note("measuring " + name + " ...");
    const Json result = measure_algorithm(name, gflops, bench);
    add_rows(
        rows,
        {result["name"].get<std::string>(), rate_text(result["fma_limit"]), share_of_limit(result)},
        result);
    results.push_back(result);
  }
  if (json) return print_results(results, gflops);
  print(fmt::format("updates per second, up to {} thread{}; {}, FMA limit {:.0f} GFLOP/s on one\n",
                    bench.threads, bench.threads == 1 ? "" : "s", kernels().name, gflops) +
        text_table(rows, {"work", "FMA limit", "share", "ours", "peer", "ratio", "which"}));
}

void bench_limits(const UpdateBench& bench, bool json) {
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
      const Json result = measure_limits(hidden, threads, gflops, bench);
      add_rows(rows,
               {std::to_string(hidden), std::to_string(threads), rate_text(result["products_only"]),
                rate_text(result["fma_limit"]), share_of_limit(result)},
               result);
      results.push_back(result);
    }
  }
  if (json) return print_results(results, one_core_gflops);
  print(
      fmt::format("TD3+BC updates per second; batch 256, obs 17, action 6; {} cores, {}, FMA limit "
                  "{:.0f} GFLOP/s on one\n",
                  cores, kernels().name, one_core_gflops) +
      text_table(rows, {"hidden", "threads", "products alone", "FMA limit", "share", "ours", "peer",
                        "ratio", "which"}));
}

}  // namespace

void run_update_bench(const UpdateBench& bench, bool json) {
  for (const auto& command : bench.peers) check_peer(command);
  if (bench.algo.empty()) {
    bench_limits(bench, json);
  } else {
    bench_algorithms(bench, json);
  }
}

}  // namespace rl_training
