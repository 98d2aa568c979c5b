#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

namespace rl_training {

class SignalThread;
struct TensorCommands;

// One call of the program. The selected subcommand stores its work in `run`, which is called after
// all arguments have been parsed.
struct Invocation {
  std::string program;                 // the program's name as typed, for printed commands
  std::string command_line;            // the whole command as typed, for metadata.json
  std::vector<std::string> arguments;  // the arguments without the program's name
  bool json = false;
  SignalThread* signals = nullptr;
  const TensorCommands* tensors = nullptr;  // null in the program without LibTorch
  std::function<int()> run;                 // returns the exit code
};

// Each function adds one subcommand. The table in program.cpp lists all of them.
void add_train(CLI::App& program, Invocation& call);
void add_sweep(CLI::App& program, Invocation& call);
void add_resume(CLI::App& program, Invocation& call);
void add_evaluate(CLI::App& program, Invocation& call);
void add_predict(CLI::App& program, Invocation& call);
void add_select(CLI::App& program, Invocation& call);
void add_export(CLI::App& program, Invocation& call);
void add_report(CLI::App& program, Invocation& call);
void add_leaderboard(CLI::App& program, Invocation& call);
void add_algorithms(CLI::App& program, Invocation& call);
void add_envs(CLI::App& program, Invocation& call);
void add_config(CLI::App& program, Invocation& call);
void add_env(CLI::App& program, Invocation& call);
void add_dataset(CLI::App& program, Invocation& call);
void add_verify_resume(CLI::App& program, Invocation& call);
void add_doctor(CLI::App& program, Invocation& call);
void add_render(CLI::App& program, Invocation& call);
void add_bench(CLI::App& program, Invocation& call);
void add_completion(CLI::App& program, Invocation& call);
void add_reference(CLI::App& program, Invocation& call);

}  // namespace rl_training
