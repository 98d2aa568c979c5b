#pragma once

namespace rl_training {

// System calls that remain allowed in a process that reads an untrusted file. All others fail with
// EPERM, even if the file has compromised the process: no sockets, no other programs, no signals to
// other processes, no files written, created or removed by name.
enum class CallFilter {
  opening,  // reading, memory, threads, exiting, and opening files for reading
  reading,  // the same without opening files or looking up names
};

// Installs the filter for the rest of the process's life; filters accumulate. Call this ONLY in a
// child process. Returns false if the build has no libseccomp or the kernel rejects the filter.
bool install_call_filter(CallFilter filter, int output_descriptor);

// Whether this build filters readers on this machine; tested in a child process.
bool readers_are_filtered();

}  // namespace rl_training
