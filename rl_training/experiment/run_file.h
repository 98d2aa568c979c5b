#pragma once
#include <string>

namespace rl_training {

// A run directory may be untrusted, and a link in it may name any file. What is opened
// here is a file of the directory itself.

// Opens for reading and writing, creates where nothing is there; returns the descriptor. A link, a
// pipe or a device in the file's place throws Error{checkpoint} and is not touched; another failure
// throws Error{io}.
int open_run_file(const std::string& path);

// Throws Error{checkpoint} if a file or directory of a run was replaced by a link.
void refuse_links(const std::string& run_directory);

}  // namespace rl_training
