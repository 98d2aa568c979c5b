#pragma once
#include <string>

#include "rl_training/report/run_record.h"

namespace rl_training {

// The bytes of a regular file. Throws Error{io} for a link, a pipe, a device or more than `most`
// bytes. Run directories may be untrusted and must not make the program read other files.
std::string read_plain_file(FileSystem& files, const std::string& path, uint64_t most);

// Fill the record from metrics.jsonl and timing.jsonl. Truncated or invalid rows are skipped; a
// missing file changes nothing.
void read_metrics(FileSystem& files, RunRecord& run);
void read_timing(FileSystem& files, RunRecord& run);

}  // namespace rl_training
