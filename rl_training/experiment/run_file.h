#pragma once
#include <string>

namespace rl_training {

// A run directory may be untrusted, and a link in it may point to any file. The functions below
// therefore refuse links.

// Opens a file for reading and writing, creates it if necessary, and returns the descriptor. Throws
// Error{checkpoint} for a link, pipe or device, which stays unchanged, and Error{io} for other
// failures.
int open_run_file(const std::string& path);

// Throws Error{checkpoint} if a file or directory of a run is a link, pipe or device.
void refuse_links(const std::string& run_directory);

}  // namespace rl_training
