#pragma once
#include <string>

#include "rl_training/report/run_record.h"

namespace rl_training {

// The bytes of a plain file. A link, a pipe, a device or more than `most` bytes: Error{io}. Run
// directories may come from strangers, and must not make us read anything else.
std::string read_plain_file(FileSystem& files, const std::string& path, uint64_t most);

// Fill the record from metrics.jsonl and timing.jsonl; rows that are cut or no JSON are passed
// over, missing files leave it as it is.
void read_metrics(FileSystem& files, RunRecord& run);
void read_timing(FileSystem& files, RunRecord& run);

}  // namespace rl_training
