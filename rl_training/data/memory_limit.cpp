#include "rl_training/data/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace rl_training {
namespace {

// Reduces `limit` to the lowest limit of a control group and its enclosing groups. A group has no
// limit if its file contains "max" or does not exist.
void lower_to(const std::string& groups, std::string group, const char* file, int64_t& limit) {
  while (true) {
    int64_t bytes = 0;
    if (std::ifstream(groups + group + file) >> bytes && bytes > 0) limit = std::min(limit, bytes);
    if (group.empty()) return;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

int64_t memory_limit(const std::string& root) {
  int64_t limit = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  const std::string groups = root + "/sys/fs/cgroup";
  std::ifstream own(root + "/proc/self/cgroup");
  // Lines have the form 0::/user.slice (cgroup version 2) or 4:memory:/docker/... (version 1).
  for (std::string line; std::getline(own, line);) {
    const auto path = line.find(":/");
    if (path == std::string::npos) continue;
    const auto group = line.substr(path + 1);
    if (line.starts_with("0::")) lower_to(groups, group, "/memory.max", limit);
    if (line.find(":memory:") != std::string::npos) {
      lower_to(groups + "/memory", group, "/memory.limit_in_bytes", limit);
    }
  }
  return limit;
}

}  // namespace rl_training
