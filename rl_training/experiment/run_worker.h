#pragma once
#include <memory>

#include "rl_training/experiment/run_parts.h"

namespace rl_training {

// The counterpart of Run in every process except process 0, if several processes train one run. It
// writes no files, because process 0 writes logs and checkpoints. It reads the same dataset as
// process 0 and, to resume, the checkpoint that process 0 names. Both must be on a shared file
// system.
class RunWorker final : private RunSink {
 public:
  // Corresponds to Run::start in process 0 and needs the same config.
  static std::unique_ptr<RunWorker> start(const TrainConfig& config, RunContext context,
                                          const std::string& from = "");
  // Corresponds to Run::resume in process 0, which sends the path of the checkpoint.
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
