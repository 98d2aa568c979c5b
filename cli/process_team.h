#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "rl_training/sweep/child_process.h"
#include "rl_training/util/process_group.h"
#include "rl_training/util/scratch_directory.h"

namespace rl_training {

// The options of a run that several processes train together.
struct ProcessArguments {
  std::string processes, master, interface;
  NumberArgument timeout;

  void add_to(CLI::App& command);
  bool given() const { return !processes.empty(); }
};

// The processes of one run, joined: those that this one has started on this machine, or those that
// somebody else starts. Ends the ones it has started.
class ProcessTeam {
 public:
  // Does nothing but for --processes.
  ProcessTeam(const ProcessArguments& arguments, const Invocation& call);

  ProcessGroup* group() const { return group_.get(); }
  // Whether this is one of the processes that leave logs, checkpoints and output to the first.
  bool is_helper() const { return process_rank(group()) > 0; }
  // Does the work and waits for the processes that were started. Where one of them is the reason
  // of an Error, the Error says so.
  int run(const std::function<int()>& work);

 private:
  void start_others(const ProcessArguments& arguments, const Invocation& call, int count, int port);
  void find_reason();

  std::optional<ScratchDirectory> outputs_;
  std::vector<std::unique_ptr<ChildProcess>> others_;  // from rank 1 on
  std::unique_ptr<ProcessGroup> group_;
};

}  // namespace rl_training
