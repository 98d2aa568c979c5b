#pragma once
#include <string>

#include "rl_training/util/file_system.h"

namespace rl_training {

// Notes in metadata.json how its last session ended: `ended`, a time, and `stop_reason`, that of
// the summary or the kind of an error. A session without them was killed. What cannot be written is
// left: nothing but reports reads it.
void record_session_end(FileSystem& files, const std::string& metadata_path,
                        const std::string& stop_reason);

}  // namespace rl_training
