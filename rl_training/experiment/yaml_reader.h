#pragma once
#include <string>
#include <string_view>

#include "rl_training/util/config_node.h"

namespace rl_training {

// Reads one YAML document whose root is a map. Every node knows `file` and its line (a map, a list
// or nothing under a key: the line of the key). Configs may come from strangers, so only the plain
// part of YAML is taken: anchors, aliases, tags, directives, duplicate keys, several documents,
// control characters, text that is not UTF-8, more than 16 levels or 1 MiB are Error{config}.
ConfigNode read_yaml(std::string_view text, const std::string& file);

// The value of `--set key=value`: one value, [list] or {map}; empty text is null. `origin` stands
// for the file in error messages; lines are left out.
ConfigNode read_yaml_value(std::string_view text, const std::string& origin);

}  // namespace rl_training
