#pragma once
#include <memory>

#include "rl_training/experiment/run_parts.h"

namespace rl_training {

// A process other than the first of those that train one run together (Run is the first). It writes
// nothing: the first one keeps logs and checkpoints. Reads the same dataset and, to resume, the
// checkpoint that the first one names: both must be in a file system that all see.
class RunWorker final : private RunSink {
 public:
  // As Run::start in the first process, with the same config.
  static std::unique_ptr<RunWorker> start(const TrainConfig& config, RunContext context,
                                          const std::string& from = "");
  // As Run::resume, which says what is resumed.
  static std::unique_ptr<RunWorker> resume(RunContext context);

  TrainSummary train(StopRequests* requests = nullptr);

 private:
  RunWorker(const TrainConfig& config, RunData data, RunContext context,
            const Checkpoint* from = nullptr);
  void send_share();

  void log(const Json& /*row*/) override {}
  void checkpoint(int64_t /*step*/, bool /*best*/) override { send_share(); }
  void warn(const std::string& /*line*/) override {}
  void phase_end(int64_t /*step*/, const std::string& /*phase*/) override { send_share(); }

  RunContext context_;
  RunParts parts_;
};

}  // namespace rl_training
