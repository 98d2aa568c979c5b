#pragma once
#include <string>
#include <string_view>

#include "rl_training/util/config_node.h"

namespace rl_training {

// Reads one YAML document whose root is a map. Every node stores `file` and its line; for a map, a
// list or an empty value, this is the line of its key.
//
// Configs may be untrusted, so only plain YAML is accepted. Throws Error{config} for anchors,
// aliases, tags, directives, duplicate keys, several documents, control characters, text that is
// not UTF-8, more than 16 levels, or more than 1 MiB.
ConfigNode read_yaml(std::string_view text, const std::string& file);

// Reads the value of `--set key=value`: one value, [list] or {map}. Empty text is null. Error
// messages use `origin` as the file and have no line.
ConfigNode read_yaml_value(std::string_view text, const std::string& origin);

}  // namespace rl_training
