#include "cli/process_team.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <charconv>

#include "cli/output.h"
#include "rl_training/parallel/join.h"
#include "rl_training/util/error.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

constexpr int kMaxLocalProcesses = 256;

// Pins this process to its share of the machine's cores, or to one core if there are fewer cores
// than processes.
void pin_to_share(int rank, int size) {
  cpu_set_t all, mine;
  if (::sched_getaffinity(0, sizeof(all), &all) != 0) return;
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &all)) cores.push_back(core);
  }
  const int count = static_cast<int>(cores.size());
  if (count == 0) return;
  CPU_ZERO(&mine);
  const int first = rank * count / size, end = std::max(first + 1, (rank + 1) * count / size);
  for (int i = first; i < end; ++i) CPU_SET(cores[static_cast<size_t>(i)], &mine);
  // If this fails, the process is slower but still correct.
  static_cast<void>(::sched_setaffinity(0, sizeof(mine), &mine));
}

bool read_whole(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorKind::config, {"", 0, "--processes"},
              "expected a number from 1 to " + std::to_string(kMaxLocalProcesses) +
                  ", RANK/SIZE or env, got " + text);
}

Milliseconds timeout_of(const ProcessArguments& arguments) {
  return arguments.timeout.given()
             ? Milliseconds(1000 * arguments.timeout.read("--process-timeout", between(1, 86400)))
             : ProcessPlace().timeout;
}

// Parses --processes of the form "1/4" (rank 1 of 4 processes) and --master.
ProcessPlace place_by_hand(const ProcessArguments& arguments, size_t slash) {
  const std::string_view text = arguments.processes;
  ProcessPlace place;
  const auto colon = arguments.master.rfind(':');
  if (!read_whole(text.substr(0, slash), place.rank) ||
      !read_whole(text.substr(slash + 1), place.size) || place.rank < 0 ||
      place.rank >= place.size) {
    refuse(arguments.processes);
  }
  if (colon == std::string::npos ||
      !read_whole(std::string_view(arguments.master).substr(colon + 1), place.port) ||
      place.port < 1 || place.port > 65535) {
    throw Error(ErrorKind::config, {"", 0, "--master"},
                "the address of process 0 is needed (expected HOST:PORT, got " +
                    (arguments.master.empty() ? "nothing" : arguments.master) + ")");
  }
  place.master = arguments.master.substr(0, colon);
  return place;
}

// The arguments of this call without --processes and --json.
std::vector<std::string> arguments_of_others(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--processes") {
      ++i;
    } else if (!arguments[i].starts_with("--processes=") && arguments[i] != "--json") {
      kept.push_back(arguments[i]);
    }
  }
  return kept;
}

}  // namespace

void ProcessArguments::add_to(CLI::App& command) {
  command
      .add_option("--processes", processes,
                  "train with several processes that share each batch: K starts K processes on "
                  "this machine; env reads rank and size from the variables of torchrun, OpenMPI "
                  "or Slurm; RANK/SIZE states them")
      ->type_name("K|env|RANK/SIZE");
  command
      .add_option("--master", master, "address of process 0 (default: MASTER_ADDR and MASTER_PORT)")
      ->type_name("HOST:PORT");
  command
      .add_option("--interface", interface,
                  "network interface or address of this machine to exchange data on; default: the "
                  "one that reaches process 0")
      ->type_name("NAME|ADDRESS");
  command
      .add_option("--process-timeout", timeout.text,
                  "end the run if a process is silent for this many seconds (300)")
      ->type_name("SECONDS");
}

ProcessTeam::ProcessTeam(const ProcessArguments& arguments, const Invocation& call) {
  if (!arguments.given()) return;
  ProcessPlace place;
  std::unique_ptr<RendezvousServer> server;
  int count = 0;
  const auto slash = arguments.processes.find('/');
  if (arguments.processes == "env") {
    place = place_from_environment(arguments.master);
  } else if (slash != std::string::npos) {
    place = place_by_hand(arguments, slash);
    if (place.master == kLoopback) pin_to_share(place.rank, place.size);
  } else if (read_whole(arguments.processes, count) && count >= 1 && count <= kMaxLocalProcesses) {
    place.size = count;
  } else {
    refuse(arguments.processes);
  }
  place.interface = arguments.interface;
  place.timeout = timeout_of(arguments);
  if (count > 1) {
    if (!processes_available()) join_processes(place);  // throws with the reason
    server = std::make_unique<RendezvousServer>(kLoopback, 0, place.timeout);
    start_others(arguments, call, count, server->port());
    pin_to_share(0, count);
  }
  try {
    group_ = join_processes(place, std::move(server));
  } catch (const Error&) {
    find_reason();
    throw;
  }
}

void ProcessTeam::start_others(const ProcessArguments& arguments, const Invocation& call, int count,
                               int port) {
  if (!arguments.master.empty()) {
    throw Error(ErrorKind::config, {"", 0, "--master"},
                "not needed for processes on one machine (expected --processes env or RANK/SIZE)");
  }
  outputs_.emplace();
  for (int rank = 1; rank < count; ++rank) {
    auto words = arguments_of_others(call.arguments);
    words.insert(words.end(), {"--processes", fmt::format("{}/{}", rank, count), "--master",
                               fmt::format("{}:{}", kLoopback, port)});
    others_.push_back(std::make_unique<ChildProcess>(
        std::move(words), outputs_->path() + "/" + std::to_string(rank) + ".txt"));
  }
}

int ProcessTeam::run(const std::function<int()>& work) {
  int code = 0;
  try {
    code = work();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) find_reason();
    throw;
  }
  group_.reset();
  for (auto& other : others_) other->wait();
  return code;
}

// Throws the error of the started process that caused the failure, if there is one. Processes that
// only lost their connection are not the cause.
void ProcessTeam::find_reason() {
  group_.reset();  // makes the waiting processes end
  constexpr int kPatienceMs = 2000;
  for (int waited = 0; waited < kPatienceMs; waited += 10) {
    if (std::all_of(others_.begin(), others_.end(), [](auto& other) { return other->ended(); })) {
      break;
    }
    ::poll(nullptr, 0, 10);
  }
  for (size_t i = 0; i < others_.size(); ++i) {
    if (!others_[i]->ended()) continue;
    const int code = others_[i]->wait();
    const auto name = "process " + std::to_string(i + 1);
    const auto line = others_[i]->error_line();
    if (code > 128 && line.empty()) {
      throw Error(
          ErrorKind::io, {name, 0, ""},
          fmt::format("was ended by signal {}; {} processes can resume from the last checkpoint",
                      code - 128, others_.size() + 1));
    }
    const bool lost = line.find("lost another process") != std::string::npos ||
                      line.find("process 0 ") != std::string::npos;
    if (code >= 1 && code <= 6 && !line.empty() && !lost) {
      throw Error(static_cast<ErrorKind>(code), {name, 0, ""}, line);
    }
  }
}

}  // namespace rl_training
