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

// The connected processes of one run. Either this process starts them on this machine, or a
// launcher starts them. The destructor ends the processes that this object has started.
class ProcessTeam {
 public:
  // Does nothing without --processes.
  ProcessTeam(const ProcessArguments& arguments, const Invocation& call);

  ProcessGroup* group() const { return group_.get(); }
  // Whether this is a process other than process 0. Process 0 writes logs, checkpoints and output.
  bool is_helper() const { return process_rank(group()) > 0; }
  // Runs `work`, then waits for the started processes. If one of them made `work` fail, throws an
  // Error that names that process.
  int run(const std::function<int()>& work);

 private:
  void start_others(const ProcessArguments& arguments, const Invocation& call, int count, int port);
  void find_reason();

  std::optional<ScratchDirectory> outputs_;
  std::vector<std::unique_ptr<ChildProcess>> others_;  // ranks 1 and higher
  std::unique_ptr<ProcessGroup> group_;
};

}  // namespace rl_training
