#include "rl_training/data/joined_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

bool is_csv(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".csv.gz") || path.ends_with(".tsv");
}

// Compares runs of digits as numbers, so that episode_9 precedes episode_10.
bool in_natural_order(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      const size_t first = i, second = j;
      while (i < a.size() && digit(a[i])) ++i;
      while (j < b.size() && digit(b[j])) ++j;
      if (i - first != j - second) return i - first < j - second;
      const int order = a.compare(first, i - first, b, second, j - second);
      if (order != 0) return order < 0;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

template <class T>
void append_column(std::vector<T>& all, const Column<T>& part) {
  all.insert(all.end(), part.data(), part.data() + part.size());
}

void check_fits(const LoggedSteps& first, const LoggedSteps& part) {
  const auto check = [&](const char* key, int64_t expected, int64_t got) {
    if (expected == got) return;
    throw Error(ErrorKind::data, {part.file, 0, key},
                "differs in width from " + first.file + " (expected " + std::to_string(expected) +
                    ", got " + std::to_string(got) + ")");
  };
  check("obs", first.obs_dim, part.obs_dim);
  check("action", first.action_dim, part.action_dim);
  const auto kind_of = [](const LoggedSteps& steps) {
    return std::string(steps.categories > 0 ? "discrete" : "continuous");
  };
  if (kind_of(first) != kind_of(part)) {
    throw Error(ErrorKind::data, {part.file, 0, "action"},
                kind_of(part) + ", but " + kind_of(first) + " in " + first.file);
  }
  if (first.observation_names == part.observation_names && first.action_names == part.action_names)
    return;
  throw Error(ErrorKind::data, {part.file, 0, ""},
              "its columns differ from those of " + first.file);
}

}  // namespace

std::vector<std::string> files_to_join(const std::string& directory) {
  std::error_code code;
  std::vector<std::string> arrays, tables;
  for (const auto& entry : std::filesystem::directory_iterator(directory, code)) {
    const auto path = entry.path().string();
    if (path.ends_with(".npz")) arrays.push_back(path);
    if (is_csv(path)) tables.push_back(path);
  }
  if (!arrays.empty() && !tables.empty()) return {};
  auto& files = arrays.empty() ? tables : arrays;
  std::sort(files.begin(), files.end(), in_natural_order);
  return files;
}

LoggedSteps join_steps(const std::vector<LoggedSteps>& parts) {
  LoggedSteps all;
  std::vector<float> obs, actions, successors, next_actions;
  std::vector<double> rewards;
  std::vector<uint8_t> marks;
  const auto& first = parts.at(0);
  all.file = first.file;
  all.obs_dim = first.obs_dim;
  all.action_dim = first.action_dim;
  all.categories = first.categories;
  all.has_timeouts = first.has_timeouts;
  all.has_next_observations = first.has_next_observations;
  all.observation_names = first.observation_names;
  all.action_names = first.action_names;
  all.warnings = first.warnings;
  for (const auto& part : parts) {
    check_fits(first, part);
    all.categories = std::max(all.categories, part.categories);
    append_column(obs, part.obs);
    append_column(actions, part.actions);
    append_column(successors, part.successors);
    append_column(rewards, part.rewards);
    append_column(marks, part.marks);
    marks.back() |= LoggedSteps::kLast;
    if (first.has_next_actions() && part.has_next_actions()) {
      append_column(next_actions, part.next_actions);
    }
  }
  all.obs = Column<float>(std::move(obs));
  all.actions = Column<float>(std::move(actions));
  all.successors = Column<float>(std::move(successors));
  all.rewards = Column<double>(std::move(rewards));
  all.marks = Column<uint8_t>(std::move(marks));
  if (static_cast<int64_t>(next_actions.size()) == all.slots() * all.action_dim) {
    all.next_actions = Column<float>(std::move(next_actions));
  }
  return all;
}

}  // namespace rl_training
