#pragma once
#include <memory>
#include <optional>

#include "rl_training/experiment/run_data.h"
#include "rl_training/experiment/run_phases.h"
#include "rl_training/experiment/state_archive.h"
#include "rl_training/experiment/trained_policy.h"
#include "rl_training/experiment/warm_start.h"
#include "rl_training/runtime/session.h"
#include "rl_training/runtime/trainer.h"

namespace rl_training {

// Settings of a run that are not part of its config.
struct RunContext {
  std::string command;  // for metadata.json
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  const Session& session = guest_session();
  bool strict_data = false;           // treat warnings about the data as errors
  ProcessGroup* processes = nullptr;  // processes that train together; null if there is only one
};

struct DatasetFacts {
  int64_t rows = 0, episodes = 0;
  double mean_return = 0;
  std::string fingerprint;
  std::vector<float> first_obs;  // empty if observations are images
};

// The data of a new run and, if it copies initial parameters, the checkpoint that provides them.
struct RunBeginning {
  RunData data;
  std::optional<Checkpoint> from;
  std::optional<EnvSpec> from_spaces;  // spaces of the policy in `from`
};
RunBeginning load_beginning(const TrainConfig& config, const RunContext& context,
                            const std::string& from);

// The parts of a run in one process: data, policy, phases and training loop. The owner of this
// object writes the files.
class RunParts {
 public:
  RunParts(const TrainConfig& config, RunData run_data, const RunContext& context,
           const Checkpoint* from = nullptr);

  void visit_state(StateVisitor& state);
  // Loads this process's share of a checkpoint. `visit` must visit all state that the owner of this
  // object saves.
  void load(const Checkpoint& checkpoint, const VisitState& visit);

  TrainedPolicy policy;
  RunData data;
  DatasetFacts dataset;
  std::optional<WarmStart> warm_start;
  std::unique_ptr<RunPhases> phases;
  std::unique_ptr<Trainer> trainer;

 private:
  TrainerOptions trainer_options() const;
  void check_processes() const;

  ProcessGroup* processes_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<Validator> validator_;
};

}  // namespace rl_training
