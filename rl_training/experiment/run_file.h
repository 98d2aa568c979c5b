#pragma once
#include <string>

namespace rl_training {

// A run directory may be untrusted, and a link in it may point to any file. These functions only
// open files of the directory itself.

// Opens a file for reading and writing, creating it if necessary, and returns the descriptor. A
// link, pipe or device in its place throws Error{checkpoint} and is left unchanged; other failures
// throw Error{io}.
int open_run_file(const std::string& path);

// Throws Error{checkpoint} if a file or directory of a run was replaced by a link.
void refuse_links(const std::string& run_directory);

}  // namespace rl_training
