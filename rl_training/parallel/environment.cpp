#include <charconv>
#include <cstdlib>

#include "rl_training/parallel/join.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

struct Launcher {
  const char *rank, *size;
};
constexpr Launcher kLaunchers[] = {{"RANK", "WORLD_SIZE"},
                                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"SLURM_PROCID", "SLURM_NTASKS"}};
constexpr int kMaxProcesses = 4096, kMaxPort = 65535;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int number(const std::string& name, const std::string& text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= low && value <= high) {
    return value;
  }
  throw Error(ErrorKind::config, {"", 0, name},
              "expected a number from " + std::to_string(low) + " to " + std::to_string(high) +
                  ", got " + (text.empty() ? "nothing" : text));
}

}  // namespace

ProcessPlace place_from_environment(const std::string& master) {
  ProcessPlace place;
  const Launcher* launcher = nullptr;
  for (const auto& each : kLaunchers) {
    if (launcher == nullptr && !variable(each.rank).empty()) launcher = &each;
  }
  if (launcher == nullptr) {
    throw Error(ErrorKind::config, {"", 0, "--processes"},
                "no rank in the environment variables (expected RANK and WORLD_SIZE, "
                "OMPI_COMM_WORLD_RANK and _SIZE or SLURM_PROCID and SLURM_NTASKS)");
  }
  place.size = number(launcher->size, variable(launcher->size), 1, kMaxProcesses);
  place.rank = number(launcher->rank, variable(launcher->rank), 0, place.size - 1);
  if (place.size == 1) return place;
  const auto colon = master.rfind(':');
  if (!master.empty() && colon != std::string::npos) {
    place.master = master.substr(0, colon);
    place.port = number("--master", master.substr(colon + 1), 1, kMaxPort);
    return place;
  }
  place.master = variable("MASTER_ADDR");
  if (!master.empty() || place.master.empty()) {
    throw Error(ErrorKind::config, {"", 0, "--master"},
                "the address of process 0 is not known (expected HOST:PORT, or MASTER_ADDR and "
                "MASTER_PORT in the environment, got " +
                    (master.empty() ? "nothing" : master) + ")");
  }
  // The agent of torchrun listens on MASTER_PORT while the processes run, so the next port is used.
  const int taken = variable("TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0;
  place.port = number("MASTER_PORT", variable("MASTER_PORT"), 1, kMaxPort - taken) + taken;
  return place;
}

}  // namespace rl_training
