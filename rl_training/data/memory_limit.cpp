#include "rl_training/data/memory_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace rl_training {
namespace {

// Of one control group; "max" and missing files set none.
void lower_to(const std::string& file, int64_t& limit) {
  int64_t bytes = 0;
  if (std::ifstream(file) >> bytes && bytes > 0) limit = std::min(limit, bytes);
}

}  // namespace

int64_t memory_limit() {
  int64_t limit = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  const std::string root = "/sys/fs/cgroup";
  // In a container the group of the process is the root.
  lower_to(root + "/memory.max", limit);
  lower_to(root + "/memory/memory.limit_in_bytes", limit);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto path = line.find(":/");
    if (path == std::string::npos) continue;
    const auto group = line.substr(path + 1);
    if (line.starts_with("0::")) lower_to(fmt::format("{}{}/memory.max", root, group), limit);
    if (line.find(":memory:") != std::string::npos) {
      lower_to(fmt::format("{}/memory{}/memory.limit_in_bytes", root, group), limit);
    }
  }
  return limit;
}

}  // namespace rl_training
