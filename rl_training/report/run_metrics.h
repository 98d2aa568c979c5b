#pragma once
#include <string>

#include "rl_training/report/run_record.h"

namespace rl_training {

// Reads a regular file. Throws Error{io} for a link, a pipe, a device or a file of more than `most`
// bytes. Run directories may be untrusted and must not make the program read other files.
std::string read_plain_file(FileSystem& files, const std::string& path, uint64_t most);

// These functions fill the record from metrics.jsonl and timing.jsonl. They skip truncated or
// invalid rows. A missing file changes nothing.
void read_metrics(FileSystem& files, RunRecord& run);
void read_timing(FileSystem& files, RunRecord& run);

}  // namespace rl_training
