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
// `dataset collect --policy RUN`: returns the dataset and sets `bounds` to the action space of its
// environment.
TransitionDataset collect_with_run(const CollectArguments& arguments, Space& bounds);
// `report --episode`: returns an animation, or nullopt if there is no checkpoint or the task cannot
// be drawn.
std::optional<std::string> film_of(const ReportTask& task);

// The functions of subcommands that need LibTorch. Subcommands call them only through
// `tensor_commands`, never by name. The linker can therefore leave them out of the program
// `rl_training`, which starts without LibTorch.
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

// Returns the functions of this process. If this process does not contain them, the call does not
// return: it executes the program that contains LibTorch, with the same arguments. Nothing may have
// been read, printed or changed before this call.
const TensorCommands& tensor_commands(const Invocation& call);

// Runs the command line; `tensors` is null in the program without LibTorch.
int run_commands(int argc, char** argv, const TensorCommands* tensors);

}  // namespace rl_training
