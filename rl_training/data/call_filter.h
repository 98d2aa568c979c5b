#pragma once

namespace rl_training {

// System calls that remain allowed in a process that reads an untrusted file. All other calls fail,
// even if the file has compromised the process. The process cannot open sockets, start programs or
// signal other processes. It cannot create or remove files, or open them for writing.
enum class CallFilter {
  opening,  // reading, memory, threads, exiting, and opening files for reading
  reading,  // like `opening`, but without opening files
};

// Installs the filter for the remaining life of the process. The process can then write only to
// `output_descriptor`, stdout and stderr. A second filter restricts the process further. Call this
// ONLY in a child process. Returns false if the build has no libseccomp or the kernel rejects the
// filter.
bool install_call_filter(CallFilter filter, int output_descriptor);

// Whether the system calls of reader processes are filtered on this machine. Starts a child process
// to test this.
bool readers_are_filtered();

}  // namespace rl_training
