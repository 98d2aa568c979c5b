#include <cstdio>
#include <cstdlib>

#include "rl_training/program.h"

int main(int argc, char** argv) {
  const int code = rl_training::run_program(argc, argv);
#ifndef __SANITIZE_ADDRESS__  // the sanitizer checks for leaks at exit
  // Exits without destructors, because LibTorch would destroy its operators one by one.
  std::fflush(nullptr);
  std::_Exit(code);
#else
  return code;
#endif
}
