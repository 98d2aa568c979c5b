#pragma once
#include <string>

#include "rl_training/util/file_system.h"

namespace rl_training {

// Records in metadata.json how the last session ended: the time `ended` and the `stop_reason`,
// which is the reason in the training summary or the kind of an error. A session without these
// entries was killed or is still running. Failures to write are ignored, because only reports read
// these entries.
void record_session_end(FileSystem& files, const std::string& metadata_path,
                        const std::string& stop_reason);

}  // namespace rl_training
