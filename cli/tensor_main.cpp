#include <cstdio>
#include <cstdlib>

#include "rl_training/program.h"

int main(int argc, char** argv) {
  const int code = rl_training::run_program(argc, argv);
#ifndef __SANITIZE_ADDRESS__  // which looks for leaks at the end
  // Nothing of ours is left to do, but LibTorch would take its operators apart one by one.
  std::fflush(nullptr);
  std::_Exit(code);
#else
  return code;
#endif
}
