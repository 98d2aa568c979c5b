#include "rl_training/data/key_map.h"

#include <algorithm>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr const char* kNever = "none";

// Splits at each separator outside quotes. Does not remove the quotes.
std::vector<std::string> split_outside_quotes(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == separator && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string without_quotes(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '"'), text.end());
  return text;
}

}  // namespace

const std::vector<std::string>& KeyMap::roles() {
  static const std::vector<std::string> names = {"obs",        "action",      "reward",
                                                 "terminated", "done",        "timeout",
                                                 "episode",    "episode_end", "next_obs"};
  return names;
}

bool KeyMap::never_terminates() const {
  const auto found = names.find("terminated");
  return found != names.end() && found->second == std::vector<std::string>{kNever};
}

KeyMap KeyMap::parse(const ErrorPlace& place, const std::string& text) {
  KeyMap map;
  for (const auto& entry : split_outside_quotes(text, ' ')) {
    if (entry.empty()) continue;
    const auto equals = entry.find('=');
    if (equals == std::string::npos && map.layout.empty() && map.names.empty()) {
      map.layout = entry;
      continue;
    }
    const auto role = entry.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == entry.size()) {
      throw Error(ErrorKind::data, place,
                  "bad map of names `" + shortened(entry, 40) + "` (expected role=name,name)");
    }
    if (std::find(roles().begin(), roles().end(), role) == roles().end()) {
      throw Error(ErrorKind::data, place,
                  "unknown role `" + shortened(role, 40) + "` in the map of names (expected " +
                      join(roles(), ", ") + did_you_mean(role, roles()) + ")");
    }
    std::vector<std::string> names;
    for (const auto& name : split_outside_quotes(entry.substr(equals + 1), ',')) {
      names.push_back(without_quotes(name));
    }
    if (!map.names.emplace(role, std::move(names)).second) {
      throw Error(ErrorKind::data, place, "the map of names has `" + role + "` twice");
    }
  }
  return map;
}

void KeyMap::visit_options(OptionVisitor& options) {
  options.text("layout", layout, "name of a known layout, which the other keys may override");
  const std::map<std::string, const char*> meanings = {
      {"obs", "observations, comma-separated"},
      {"action", "actions, comma-separated"},
      {"reward", "rewards"},
      {"terminated", "1 where the task itself ended; none: it never does"},
      {"done", "1 at every end: treated as termination, with a warning"},
      {"timeout", "1 where only the time limit was reached"},
      {"episode", "changes from one episode to the next"},
      {"episode_end", "1 at the last row of an episode, whatever ended it"},
      {"next_obs", "observations after the step, comma-separated"}};
  for (const auto& role : roles()) {
    std::string list = has(role) ? join(names.at(role), ",") : "";
    options.text(role.c_str(), list, meanings.at(role));
    names.erase(role);
    if (!list.empty()) names[role] = split_outside_quotes(list, ',');
  }
}

std::string KeyMap::text() const {
  std::vector<std::string> words;
  if (!layout.empty()) words.push_back(layout);
  for (const auto& [role, list] : names) {
    std::vector<std::string> quoted;
    for (const auto& name : list) {
      const bool blank = name.find(' ') != std::string::npos && !name.starts_with('"');
      quoted.push_back(blank ? "\"" + name + "\"" : name);
    }
    words.push_back(role + "=" + join(quoted, ","));
  }
  return join(words, " ");
}

bool is_done_name(const std::string& name) {
  return name == "done" || name == "dones" || name == "is_done" || name == "Done";
}

}  // namespace rl_training
