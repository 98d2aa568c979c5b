#pragma once
#include <string>

#include "rl_training/util/file_system.h"

namespace rl_training {

// Records in metadata.json how the last session ended: the time `ended` and the `stop_reason`. The
// reason is that of the training summary, "paused", the kind of an Error, or "exception" for any
// other exception. A session without these entries was killed or is still running. Failures to
// write are ignored, because no training state depends on these entries.
void record_session_end(FileSystem& files, const std::string& metadata_path,
                        const std::string& stop_reason);

}  // namespace rl_training
