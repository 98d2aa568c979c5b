#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rl_training/experiment/append_file.h"
#include "rl_training/util/json.h"

namespace rl_training {

// Returns the tag of a metric: its group (eval/, validation/, time/ or train/), then the name
// without the prefix that names the group. For example, "eval_return_mean" becomes
// "eval/return_mean".
std::string tensorboard_tag(const std::string& metric);

// Writes scalars and text for TensorBoard, with one event file per session.
class TensorBoardLog {
 public:
  // `start_step` is the step of the checkpoint from which the run resumes, or 0 for a new run. If
  // the run resumes, TensorBoard discards later steps in earlier files.
  TensorBoardLog(const std::string& directory, int64_t start_step);

  void write(int64_t step, const Json& row);  // writes each number of a flat object under its tag
  // Writes preformatted text, for example a config.
  void write_text(const std::string& tag, const std::string& text);
  void flush();  // syncs to disk

 private:
  void append(std::string_view payload);

  std::unique_ptr<AppendFile> file_;
  uint64_t size_ = 0;
};

}  // namespace rl_training
