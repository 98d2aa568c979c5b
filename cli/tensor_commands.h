#pragma once
#include <optional>
#include <string>

#include "cli/commands.h"

namespace rl_training {

struct Space;
class TransitionDataset;

struct BenchArguments;
struct CollectArguments;
struct EvaluateArguments;
struct ExportArguments;
struct PredictArguments;
struct RenderArguments;
struct ReportTask;
struct ResumeArguments;
struct SelectArguments;
struct TrainArguments;

int run_train(const TrainArguments& arguments, const Invocation& call);
int run_resume(const ResumeArguments& arguments, const Invocation& call);
int run_evaluate(const EvaluateArguments& arguments, const Invocation& call);
int run_predict(const PredictArguments& arguments, const Invocation& call);
int run_select(const SelectArguments& arguments, const Invocation& call);
int run_export(const ExportArguments& arguments, const Invocation& call);
int run_render(const RenderArguments& arguments, const Invocation& call);
int run_bench(const BenchArguments& arguments, const Invocation& call);
int run_doctor(const Invocation& call);
// `dataset collect --policy RUN`: the dataset, and in `bounds` those of its environment.
TransitionDataset collect_with_run(const CollectArguments& arguments, Space& bounds);
// `report --episode`: an animation, nothing where there can be none.
std::optional<std::string> film_of(const ReportTask& task);

// The work of subcommands that needs LibTorch. Subcommands reach it through `tensor_commands` and
// never by name: the linker then leaves it out of the program `rl_training`, which starts without
// LibTorch.
struct TensorCommands {
  decltype(&run_train) train = run_train;
  decltype(&run_resume) resume = run_resume;
  decltype(&run_evaluate) evaluate = run_evaluate;
  decltype(&run_predict) predict = run_predict;
  decltype(&run_select) select = run_select;
  decltype(&run_export) export_policy = run_export;
  decltype(&run_render) render = run_render;
  decltype(&run_bench) bench = run_bench;
  decltype(&run_doctor) doctor = run_doctor;
  decltype(&collect_with_run) collect = collect_with_run;
  decltype(&film_of) film = film_of;
};

// Those of this process. Where it has none, the call does not return: the process becomes the
// program with LibTorch and starts again with the same arguments. Nothing must have been read,
// printed or changed before.
const TensorCommands& tensor_commands(const Invocation& call);

// The command line; null: this process does without LibTorch.
int run_commands(int argc, char** argv, const TensorCommands* tensors);

}  // namespace rl_training
