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

// What surrounds a run without being part of it.
struct RunContext {
  std::string command;  // for metadata.json
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  const Session& session = guest_session();
  bool strict_data = false;           // warnings of the data doctor are errors
  ProcessGroup* processes = nullptr;  // that train together; null: this one alone
};

struct DatasetFacts {
  int64_t rows = 0, episodes = 0;
  double mean_return = 0;
  std::string fingerprint;
  std::vector<float> first_obs;  // empty if observations are images
};

// The data that a run starts with, and the checkpoint that it takes parameters from.
struct RunBeginning {
  RunData data;
  std::optional<Checkpoint> from;
  std::optional<EnvSpec> from_spaces;
};
RunBeginning load_beginning(const TrainConfig& config, const RunContext& context,
                            const std::string& from);

// What one process computes with: data, policy, phases and the loop over them. Files are its
// owner's.
class RunParts {
 public:
  RunParts(const TrainConfig& config, RunData run_data, const RunContext& context,
           const Checkpoint* from = nullptr);

  void visit_state(StateVisitor& state);
  // The state of this process; `visit` is what its owner saves.
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
