#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {

// A node of a configuration, with its file and line. YAML files, `--set key=value` and configs in
// checkpoints are converted to nodes before options are read.
struct ConfigNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string text;     // value of a scalar
  bool quoted = false;  // distinguishes the text "3" from the number 3
  std::vector<ConfigNode> items;
  std::vector<std::pair<std::string, ConfigNode>> entries;
  std::string file;
  int line = 0;

  // The next six functions are defined in the source file. The class contains vectors of its own
  // type, and clang requires that this type is complete where the functions are defined.
  ConfigNode();
  ConfigNode(const ConfigNode& other);
  ConfigNode(ConfigNode&& other) noexcept;
  ConfigNode& operator=(const ConfigNode& other);
  ConfigNode& operator=(ConfigNode&& other) noexcept;
  ~ConfigNode();

  static ConfigNode scalar(std::string text, bool quoted = false);
  static ConfigNode map();
  // Later error messages about the nodes contain `file`.
  static ConfigNode from_json(const Json& json, const std::string& file);

  const ConfigNode* find(std::string_view key) const;
  ConfigNode* find(std::string_view key);
  // Adds an entry or replaces the value of an existing entry.
  void set(const std::string& key, ConfigNode value);
  // The value as text for error messages: a scalar, "[a, b]" or "{key: value}".
  std::string shown() const;
  const char* kind_name() const;

  [[noreturn]] void fail(const std::string& key_path, const std::string& message) const;
};

}  // namespace rl_training
