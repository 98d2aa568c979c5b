#include "rl_training/util/config_node.h"

#include "rl_training/util/text.h"

namespace rl_training {

ConfigNode::ConfigNode() = default;
ConfigNode::ConfigNode(const ConfigNode& other) = default;
ConfigNode::ConfigNode(ConfigNode&& other) noexcept = default;
ConfigNode& ConfigNode::operator=(const ConfigNode& other) = default;
ConfigNode& ConfigNode::operator=(ConfigNode&& other) noexcept = default;
ConfigNode::~ConfigNode() = default;

ConfigNode ConfigNode::scalar(std::string text, bool quoted) {
  ConfigNode node;
  node.kind = Kind::scalar;
  node.text = std::move(text);
  node.quoted = quoted;
  return node;
}

ConfigNode ConfigNode::map() {
  ConfigNode node;
  node.kind = Kind::map;
  return node;
}

ConfigNode ConfigNode::from_json(const Json& json, const std::string& file) {
  ConfigNode node;
  node.file = file;
  if (json.is_object()) {
    node.kind = Kind::map;
    for (const auto& [key, value] : json.items()) {
      node.entries.emplace_back(key, from_json(value, file));
    }
  } else if (json.is_array()) {
    node.kind = Kind::list;
    for (const auto& value : json) node.items.push_back(from_json(value, file));
  } else if (!json.is_null()) {
    node.kind = Kind::scalar;
    node.quoted = json.is_string();
    node.text = json.is_string() ? json.get<std::string>() : json.dump();
  }
  return node;
}

const ConfigNode* ConfigNode::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

ConfigNode* ConfigNode::find(std::string_view key) {
  return const_cast<ConfigNode*>(std::as_const(*this).find(key));
}

void ConfigNode::set(const std::string& key, ConfigNode value) {
  if (auto* existing = find(key)) {
    *existing = std::move(value);
  } else {
    entries.emplace_back(key, std::move(value));
  }
}

std::string ConfigNode::shown() const {
  constexpr size_t kLongest = 60;
  std::string out;
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      out = quoted ? "\"" + text + "\"" : text;
      break;
    case Kind::list:
      for (const auto& item : items) out += (out.empty() ? "" : ", ") + item.shown();
      out = "[" + out + "]";
      break;
    case Kind::map:
      for (const auto& [key, value] : entries) {
        out += (out.empty() ? "" : ", ") + key + ": " + value.shown();
      }
      out = "{" + out + "}";
      break;
  }
  return shortened(std::move(out), kLongest);
}

const char* ConfigNode::kind_name() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return "a single value";
    case Kind::list:
      return "a list";
    case Kind::map:
      break;
  }
  return "a map";
}

void ConfigNode::fail(const std::string& key_path, const std::string& message) const {
  throw Error(ErrorKind::config, {file, line, key_path}, message);
}

}  // namespace rl_training
