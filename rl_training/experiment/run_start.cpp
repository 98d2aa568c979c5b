// Starts a run: loads the data, copies initial parameters from another run, creates the directory.
#include "rl_training/experiment/run.h"
#include "rl_training/experiment/yaml_writer.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

void tell_warm_start(const WarmStart& start, const Space& theirs, const Space& ours,
                     const std::function<void(const std::string&)>& warn) {
  warn("from " + start.checkpoint + ": " + join(start.taken, ", ") +
       (start.left.empty() ? "" : "; not copied because sizes or names differ: ") +
       join(start.left, ", "));
  if (theirs == ours) return;
  warn("warning: the action bounds differ from those of " + start.checkpoint +
       ": its actions are scaled to the new bounds");
}

void tell_data_warnings(const std::vector<std::string>& warnings, const RunContext& context) {
  for (const auto& warning : warnings) context.warn("warning: " + warning);
  if (warnings.empty() || !context.strict_data) return;
  throw Error(ErrorKind::data, {"--strict-data", 0, ""},
              "the dataset has " + std::to_string(warnings.size()) +
                  (warnings.size() == 1 ? " warning" : " warnings") +
                  " (expected none, got for example " + warnings.front() + ")");
}

}  // namespace

std::unique_ptr<Run> Run::start(const TrainConfig& config, RunContext context,
                                const std::string& from) {
  // Load and check the data before anything is written to disk.
  auto beginning = load_beginning(config, context, from);
  tell_data_warnings(beginning.data.warnings, context);
  const auto placed = with_absolute_paths(config);
  auto directory = RunDirectory::create(context.session.files(), config.output_dir, config.algo,
                                        task_name(config), static_cast<uint64_t>(config.seed),
                                        write_yaml(write_train_config(placed)));
  const auto place = directory.path();
  auto& files = context.session.files();
  std::unique_ptr<Run> run;
  try {
    run.reset(new Run(placed, std::move(beginning.data), std::move(directory), std::move(context),
                      beginning.from ? &*beginning.from : nullptr));
    run->tensorboard_ = std::make_unique<TensorBoardLog>(run->directory_.file("tensorboard"), 0);
    run->tensorboard_->write_text("config", write_yaml(write_train_config(placed)));
    run->write_metadata(0);
    if (run->parts_.warm_start) {
      tell_warm_start(*run->parts_.warm_start, beginning.from_spaces->action,
                      run->parts_.policy.env().action, run->context_.warn);
      // Without this checkpoint, a run killed early would lose its initial parameters.
      run->save_with_others([&] { run->save_checkpoint_of(0, /*best=*/false); });
    }
  } catch (const Error&) {
    run.reset();
    files.remove_all(place);  // remove the directory of the failed run
    throw;
  }
  return run;
}

}  // namespace rl_training
