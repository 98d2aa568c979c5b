#pragma once
#include <cstdint>
#include <string>

#include "rl_training/util/json.h"

namespace rl_training {

// Returns the path, size, inode and times of a file, or null if the file does not exist. The result
// changes when the file changes.
Json file_identity(const std::string& path);

// Returns the identities of the files of a dataset. Returns null for a directory of npz or csv
// files, or if an identity cannot be determined.
Json dataset_sources(const std::string& kind, const std::string& path);

// Whether the last change of each file was at least `milliseconds` ago, so that any later change
// alters the times of the file. If the time of the last change is in whole seconds, it must be at
// least 2 s ago. If `milliseconds` is 0, always returns true.
bool are_settled(const Json& sources, int64_t milliseconds);

// The file that contains this library's code: the program or a shared library. Empty if unknown.
std::string library_file();

// Identifies the current boot of the machine; empty if unknown.
std::string boot_id();

}  // namespace rl_training
