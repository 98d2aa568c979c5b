#pragma once
#include <cstdint>
#include <string>

#include "rl_training/util/json.h"

namespace rl_training {

// Path, size, inode and times of a file: equal as long as the file is unchanged. Null if there is
// no such file.
Json file_identity(const std::string& path);

// The identities of the files that a dataset is read from; null if one of them is unknown.
Json dataset_sources(const std::string& kind, const std::string& path);

// Whether any later change of these files would show in their times: the last one is at least this
// long ago. 0 disables the check.
bool are_settled(const Json& sources, int64_t milliseconds);

// The file with this library's code: the program, or a shared library in it. Empty if unknown.
std::string library_file();

// Identifies the current boot of the machine; empty if unknown.
std::string boot_id();

}  // namespace rl_training
