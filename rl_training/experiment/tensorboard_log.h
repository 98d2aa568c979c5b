#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rl_training/experiment/append_file.h"
#include "rl_training/util/json.h"

namespace rl_training {

// The tag of a metric: eval/, validation/, time/ or train/ and its name without that prefix
// ("eval_return_mean" -> "eval/return_mean").
std::string tensorboard_tag(const std::string& metric);

// Scalars and text for TensorBoard, with one event file per session.
class TensorBoardLog {
 public:
  // `start_step` is the step of the checkpoint from which the run resumes, 0 for a new run. The
  // file tells TensorBoard to discard later steps of earlier files.
  TensorBoardLog(const std::string& directory, int64_t start_step);

  void write(int64_t step, const Json& row);  // the numbers of a flat object, each under its tag
  // Preformatted text, for example a config.
  void write_text(const std::string& tag, const std::string& text);
  void flush();  // syncs to disk

 private:
  void append(std::string_view payload);

  std::unique_ptr<AppendFile> file_;
  uint64_t size_ = 0;
};

}  // namespace rl_training
