#pragma once

namespace rl_training {

// Which system calls a process that reads an untrusted file has left. Everything else fails with
// EPERM, also after the file has taken the process over: no sockets, no other program, no signals
// to others, no file that is written, created or removed by its name.
enum class CallFilter {
  opening,  // reads, memory, threads, the end, and opening files for reading
  reading,  // the same without opening and without looking up names
};

// Installs the filter for the rest of the process's life; filters add up. ONLY in a child. False
// where the build has no libseccomp or the kernel refuses.
bool install_call_filter(CallFilter filter, int output_descriptor);

// Whether readers are filtered by this build on this machine, found out in a child.
bool readers_are_filtered();

}  // namespace rl_training
