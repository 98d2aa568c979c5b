#pragma once

namespace rl_training {

// Runs the whole command line. Use this function in a program with its own environments or
// algorithms. After `register_environment` and `register_algorithm`, all subcommands (train,
// resume, evaluate, predict, render, dataset collect, report, ...) support the new environments and
// algorithms.
//
//   int main(int argc, char** argv) {
//     rl_training::register_environment({"Cart-v0", "keep a cart at the origin", make_cart});
//     return rl_training::run_program(argc, argv);
//   }
//
// Link your program to the target rl_training::program. Returns the exit code. The call should be
// the only work of its process: it prints to stdout and stderr, and handles signals while it
// trains.
int run_program(int argc, char** argv);

}  // namespace rl_training
