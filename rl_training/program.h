#pragma once

namespace rl_training {

// The whole command line as a function, for programs with their own environments or algorithms:
// after `register_environment` and `register_algorithm` every subcommand knows them (train, resume,
// evaluate, predict, render, dataset collect, report, ...).
//
//   int main(int argc, char** argv) {
//     rl_training::register_environment({"Cart-v0", "keep a cart at the origin", make_cart});
//     return rl_training::run_program(argc, argv);
//   }
//
// Link to rl_training::program. Returns the exit code. The function expects to own its process: it
// prints to stdout and stderr and handles signals while it trains.
int run_program(int argc, char** argv);

}  // namespace rl_training
