#include "rl_training/experiment/session_end.h"

#include <fmt/chrono.h>

#include <ctime>

#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {

void record_session_end(FileSystem& files, const std::string& metadata_path,
                        const std::string& stop_reason) {
  try {
    auto metadata = parse_untrusted_json(files.read_file(metadata_path));
    if (!metadata.is_object() || !metadata.contains("sessions")) return;
    auto& sessions = metadata["sessions"];
    if (!sessions.is_array() || sessions.empty() || !sessions.back().is_object()) return;
    sessions.back()["ended"] =
        fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    sessions.back()["stop_reason"] = stop_reason;
    write_file_atomically(files, metadata_path, metadata.dump(2) + "\n");
  } catch (const Error&) {  // ignored, as session_end.h explains
  }
}

}  // namespace rl_training
