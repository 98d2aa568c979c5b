#include "rl_training/sweep/sweep_directory.h"

#include <fmt/format.h>

#include <algorithm>

#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/experiment/yaml_writer.h"
#include "rl_training/sweep/run_finder.h"

namespace rl_training {
namespace {

constexpr int kFormat = 1;

Json value_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

std::optional<double> value_from(const Json& json) {
  return json.is_number() ? std::optional(json.get<double>()) : std::nullopt;
}

Json settings_json(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [key, value] : settings) {
    // Numbers and booleans keep their type. Everything else becomes text.
    auto parsed = value.kind == ConfigNode::Kind::scalar && !value.quoted
                      ? parse_untrusted_json(value.text)
                      : Json();
    json[key] = parsed.is_number() || parsed.is_boolean() ? parsed
                : value.quoted                            ? Json(value.text)
                                                          : Json(value.shown());
  }
  return json;
}

Json rounds_json(const std::vector<SweepRound>& rounds) {
  Json list = Json::array();
  for (const auto& round : rounds) {
    Json values = Json::array();
    for (const auto& value : round.values) values.push_back(value_json(value));
    list.push_back({{"pause_at", *round.pause_at}, {"trials", round.trials}, {"values", values}});
  }
  return list;
}

std::vector<SweepRound> rounds_from(const Json& list) {
  std::vector<SweepRound> rounds;
  for (const auto& entry : list) {
    SweepRound round;
    round.pause_at = entry.at("pause_at").get<int64_t>();
    entry.at("trials").get_to(round.trials);
    for (const auto& value : entry.at("values")) round.values.push_back(value_from(value));
    if (round.values.size() != round.trials.size()) throw Error(ErrorKind::io, "damaged rounds");
    rounds.push_back(std::move(round));
  }
  return rounds;
}

Json slurm_json(const SlurmState& slurm) {
  Json attempts = Json::array();
  for (const auto& [run, attempt] : slurm.attempts) {
    attempts.push_back({run, attempt.count, attempt.position});
  }
  return {{"array", slurm.array},
          {"follow_up", slurm.follow_up},
          {"partition", slurm.options.partition},
          {"time", slurm.options.time},
          {"array_limit", slurm.options.array_limit},
          {"threads", slurm.options.threads},
          {"attempts", attempts}};
}

SlurmState slurm_from(const Json& json) {
  SlurmState slurm;
  json.at("array").get_to(slurm.array);
  json.at("follow_up").get_to(slurm.follow_up);
  slurm.options = {json.at("partition"), json.at("time"), json.at("array_limit"),
                   json.at("threads")};
  for (const auto& entry : json.at("attempts")) {
    slurm.attempts[entry.at(0).get<size_t>()] = {entry.at(1).get<int64_t>(),
                                                 entry.at(2).get<int64_t>()};
  }
  return slurm;
}

// Whether the sweep `before` may be continued as `now`. They must be equal, except that without
// halving `now` may have additional trials and other seeds.
bool extends(const Json& before, const Json& now) {
  if (before == now) return true;
  auto old_rest = before, new_rest = now;
  for (auto* rest : {&old_rest, &new_rest}) {
    rest->erase("trials");
    rest->erase("seeds");
  }
  const auto &old_trials = before.at("trials"), &new_trials = now.at("trials");
  return old_rest == new_rest && before.at("halving").is_null() &&
         old_trials.size() <= new_trials.size() &&
         std::equal(old_trials.begin(), old_trials.end(), new_trials.begin());
}

}  // namespace

SweepDirectory SweepDirectory::create(FileSystem& files, const SweepSpec& spec,
                                      const std::vector<Trial>& trials) {
  auto sweep = planned(spec, trials);
  sweep.files_ = &files;
  if (files.exists(sweep.file())) {
    const auto before = open(files, sweep.path_);
    if (!extends(before.definition(), sweep.definition())) {
      throw Error(
          ErrorKind::config, {sweep.path_, 0, ""},
          "holds another sweep (expected the same one, at most with added trials, other seeds "
          "or another output_dir)");
    }
    const bool same = before.definition() == sweep.definition();
    if (same) sweep.rounds_ = before.rounds_;
    sweep.slurm_ = before.slurm_;
    if (!same) sweep.slurm_.attempts.clear();
  }
  for (size_t i = 0; i < trials.size(); ++i) {
    const auto directory = sweep.trial_directory(i);
    files.make_directories(directory);
    auto config = trials[i].config;
    config.output_dir = directory;
    write_file_atomically(files, directory + "/trial.yaml", write_yaml(write_train_config(config)));
  }
  sweep.save();
  return sweep;
}

SweepDirectory SweepDirectory::planned(const SweepSpec& spec, const std::vector<Trial>& trials) {
  SweepDirectory sweep(posix_file_system(), absolute_path(spec.output_dir));
  sweep.define(spec, trials);
  return sweep;
}

SweepDirectory SweepDirectory::open(FileSystem& files, const std::string& path) {
  SweepDirectory sweep(files, absolute_path(path));
  if (!files.exists(sweep.file())) {
    throw Error(ErrorKind::io, {path, 0, ""}, "not the directory of a sweep (no sweep.json in it)");
  }
  sweep.load();
  return sweep;
}

void SweepDirectory::define(const SweepSpec& spec, const std::vector<Trial>& trials) {
  for (const auto& trial : trials) {
    auto config = trial.config;
    config.seed = 0;  // the hash must not depend on the seed
    trials_.push_back({trial.label(), config_hash(config), settings_json(trial.settings)});
  }
  seeds_ = spec.seeds;
  metric_ = spec.metric;
  rules_ = round_rules(spec, trials);
  selection_updates_ = spec.selection_updates;
  retries_ = spec.retries;
}

Json SweepDirectory::definition() const {
  Json trials = Json::array();
  for (const auto& trial : trials_) {
    trials.push_back(
        {{"label", trial.label}, {"settings", trial.settings}, {"config_hash", trial.config_hash}});
  }
  return {{"trials", trials},
          {"seeds", seeds_},
          {"metric", metric_},
          {"mode", rules_.mode == MetricMode::max ? "max" : "min"},
          {"halving", rules_.halving.used ? Json{{"min_timesteps", rules_.halving.min_timesteps},
                                                 {"factor", rules_.halving.factor}}
                                          : Json()},
          {"length", rules_.length},
          {"eval_interval", rules_.eval_interval},
          {"selection_updates", selection_updates_}};
}

void SweepDirectory::save() {
  Json json = {{"format", kFormat},
               {"definition", definition()},
               {"retries", retries_},
               {"rounds", rounds_json(rounds_)},
               {"slurm", slurm_json(slurm_)}};
  write_file_atomically(*files_, file(), json.dump(1) + "\n");
}

void SweepDirectory::load() {
  const auto json = parse_untrusted_json(files_->read_file(file()), {.depth = 32, .keys = 100000});
  try {
    if (json.at("format") != kFormat) {
      throw Error(ErrorKind::io,
                  fmt::format("expected format {}, got {}", kFormat, json.at("format").dump()));
    }
    const auto& definition = json.at("definition");
    for (const auto& trial : definition.at("trials")) {
      trials_.push_back({trial.at("label"), trial.at("config_hash"), trial.at("settings")});
    }
    definition.at("seeds").get_to(seeds_);
    definition.at("metric").get_to(metric_);
    rules_.mode = definition.at("mode") == "min" ? MetricMode::min : MetricMode::max;
    rules_.trials = trials_.size();
    if (const auto& halving = definition.at("halving"); halving.is_object()) {
      rules_.halving = {true, halving.at("min_timesteps"), halving.at("factor")};
    }
    definition.at("length").get_to(rules_.length);
    definition.at("eval_interval").get_to(rules_.eval_interval);
    definition.at("selection_updates").get_to(selection_updates_);
    json.at("retries").get_to(retries_);
    rounds_ = rounds_from(json.at("rounds"));
    slurm_ = slurm_from(json.at("slurm"));
  } catch (const std::exception& error) {
    throw Error(ErrorKind::io, {file(), 0, ""},
                std::string("not a sweep's state: ") + error.what());
  }
}

std::string SweepDirectory::trial_directory(size_t trial) const {
  return fmt::format("{}/trial-{:03}", path_, trial);
}

PlannedRun SweepDirectory::run(size_t number, size_t threads) const {
  const size_t trial = number / seeds_.size();
  const int64_t seed = seeds_[number % seeds_.size()];
  const auto directory = trial_directory(trial), config = directory + "/trial.yaml";
  PlannedRun run;
  run.name = seeds_.size() == 1 ? fmt::format("trial {}", trial)
                                : fmt::format("trial {}, seed {}", trial, seed);
  run.config = read_train_config(read_yaml(files_->read_file(config), config));
  run.config.seed = seed;
  run.config.output_dir = directory;
  run.config.threads = static_cast<int64_t>(threads);
  run.arguments = {"train",
                   "--config",
                   config,
                   "--seed",
                   std::to_string(seed),
                   "--output-dir",
                   directory,
                   "--threads",
                   std::to_string(threads),
                   "--continue",
                   "--quiet",
                   "--json"};
  return run;
}

std::vector<size_t> SweepDirectory::runs_of(const std::vector<size_t>& trials) const {
  std::vector<size_t> runs;
  for (const size_t trial : trials) {
    for (size_t i = 0; i < seeds_.size(); ++i) runs.push_back(trial * seeds_.size() + i);
  }
  return runs;
}

void SweepDirectory::finish_round(SweepRound round) {
  rounds_.push_back(std::move(round));
  save();
}

std::optional<double> run_value(FileSystem& files, const PlannedRun& run, const std::string& metric,
                                std::optional<int64_t> pause_at) {
  const auto path = find_run(files, run.config, run.from);
  if (path.empty()) return std::nullopt;
  return metric_at(path, metric, pause_at.value_or(length_of(run.config)), run.config);
}

TrialValues trial_values(const TrialValues& runs, size_t seeds) {
  TrialValues values;
  for (size_t first = 0; first < runs.size(); first += seeds) {
    double sum = 0;
    bool all = true;
    for (size_t i = first; i < first + seeds; ++i) {
      all = all && runs[i];
      sum += runs[i].value_or(0);
    }
    values.push_back(all ? std::optional(sum / static_cast<double>(seeds)) : std::nullopt);
  }
  return values;
}

}  // namespace rl_training
