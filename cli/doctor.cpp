#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "build_info.h"
#include "cli/arguments.h"
#include "cli/machine_advice.h"
#include "cli/output.h"
#include "cli/tensor_commands.h"
#include "rl_training/data/dataset_cache.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/run.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/onednn.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/scratch_directory.h"

namespace rl_training {
namespace {

struct Check {
  std::string name, problem;  // `problem` is empty if the check passed
};

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

std::string dnnl_version_text() {
  const auto* version = onednn().version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

// Runs `work`. If `work` throws, the result's `problem` is the message of the exception.
template <class Work>
Check check(const char* name, const Work& work) {
  try {
    work();
    return {name, ""};
  } catch (const std::exception& problem) {
    return {name, problem.what()};
  }
}

void check_writable() {
  std::string name = "./.rl_training_doctor_XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) throw Error(ErrorKind::io, {".", 0, ""}, std::strerror(errno));
  ::close(file);
  ::unlink(name.c_str());
}

void check_packaged_configs() {
  for (const auto& config : packaged_configs()) read_train_config(load_config(config.name));
}

// Trains a short run and returns the bytes of its checkpoint.
std::string trained_bytes(const std::string& directory, int threads) {
  auto config = default_config(algorithms().front().name);
  config.env_id = "Pendulum-v1";
  config.output_dir = directory;
  config.threads = threads;
  config.total_timesteps = config.eval_interval = config.checkpoint_interval = 20;
  config.eval_episodes = 2;
  config.algorithm->hidden_sizes = {32, 32};
  config.dataset.source.kind = "random";
  config.dataset.source.size = 500;
  const auto result = Run::start(config, {})->train();
  return posix_file_system().read_file(result.checkpoint + "/tensors.safetensors");
}

void check_training() {
  const ScratchDirectory directory;
  const auto once = trained_bytes(directory.path(), 1);
  if (trained_bytes(directory.path(), 2) != once) {
    throw Error(ErrorKind::internal, "two runs with the same seed, on 1 and 2 threads, differ");
  }
}

Json build_facts() {
  const double free_gib =
      static_cast<double>(posix_file_system().free_space(".")) / (1024.0 * 1024 * 1024);
  return {{"version", RL_TRAINING_VERSION},
          {"commit", RL_TRAINING_COMMIT},
          {"build_type", RL_TRAINING_BUILD_TYPE},
          {"compiler", compiler()},
          {"cores", available_cores()},
          {"instruction_set", kernels().name},
          {"torch", TORCH_VERSION},
          {"onednn", dnnl_version_text()},
          {"dataset_cache", DatasetCache::default_directory()},
          {"free_disk_gib", free_gib}};
}

void print_diagnosis(const Json& facts, const std::vector<OptionalPart>& parts,
                     const std::vector<std::string>& advice, const std::vector<Check>& checks) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : facts.items()) {
    rows.push_back({name, value.is_string()         ? value.get<std::string>()
                          : value.is_number_float() ? fmt::format("{:.1f}", value.get<double>())
                                                    : value.dump()});
  }
  for (const auto& part : parts) {
    rows.push_back({part.name, part.present ? "present (" + part.serves + ")"
                                            : "missing (" + part.serves + "): install " +
                                                  part.install + " and build again"});
  }
  for (const auto& result : checks) {
    rows.push_back({result.name, result.problem.empty() ? "ok" : "WRONG: " + result.problem});
  }
  print(text_table(rows));
  for (const auto& sentence : advice) print("note: " + sentence + "\n");
}

}  // namespace

int run_doctor(const Invocation& call) {
  const bool json = call.json;
  const std::vector<Check> checks = {check("working directory can be written", check_writable),
                                     check("packaged configs are valid", check_packaged_configs),
                                     check("training repeats bit for bit", check_training)};
  const bool ok = std::all_of(checks.begin(), checks.end(),
                              [](const Check& result) { return result.problem.empty(); });
  const auto parts = optional_parts();
  const auto advice = machine_advice();
  if (!json) {
    print_diagnosis(build_facts(), parts, advice, checks);
    return ok ? 0 : 1;
  }
  Json report = {{"ok", ok}};
  report.update(build_facts());
  report["parts"] = report["checks"] = Json::array();
  for (const auto& part : parts) {
    report["parts"].push_back({{"name", part.name},
                               {"serves", part.serves},
                               {"present", part.present},
                               {"install", part.install}});
  }
  for (const auto& result : checks) {
    report["checks"].push_back(
        {{"name", result.name},
         {"ok", result.problem.empty()},
         {"problem", result.problem.empty() ? Json() : Json(result.problem)}});
  }
  report["advice"] = advice;
  print_json(report);
  return ok ? 0 : 1;
}

void add_doctor(CLI::App& program, Invocation& call) {
  add_command(program, call, "doctor",
              "Describe this build and machine, and check that training works here",
              "  rl_training doctor\n  rl_training doctor --json",
              [&call] { return tensor_commands(call).doctor(call); });
}

}  // namespace rl_training
