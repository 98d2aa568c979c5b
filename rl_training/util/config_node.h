#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {

// A node of a configuration with its origin. YAML files, `--set key=value` and configs stored in
// checkpoints are converted to it before options are read.
struct ConfigNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string text;     // scalar
  bool quoted = false;  // "3" is text, 3 is a number
  std::vector<ConfigNode> items;
  std::vector<std::pair<std::string, ConfigNode>> entries;
  std::string file;
  int line = 0;

  // Defined in the source file, where the recursive type is complete, as clang requires.
  ConfigNode();
  ConfigNode(const ConfigNode& other);
  ConfigNode(ConfigNode&& other) noexcept;
  ConfigNode& operator=(const ConfigNode& other);
  ConfigNode& operator=(ConfigNode&& other) noexcept;
  ~ConfigNode();

  static ConfigNode scalar(std::string text, bool quoted = false);
  static ConfigNode map();
  // `file` names the origin in later error messages.
  static ConfigNode from_json(const Json& json, const std::string& file);

  const ConfigNode* find(std::string_view key) const;
  ConfigNode* find(std::string_view key);
  // Adds the entry or replaces its value.
  void set(const std::string& key, ConfigNode value);
  // The text of a scalar, "[a, b]" or "{...}", which an error message shows as `got ...`.
  std::string shown() const;
  const char* kind_name() const;

  [[noreturn]] void fail(const std::string& key_path, const std::string& message) const;
};

}  // namespace rl_training
