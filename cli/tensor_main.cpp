#include <cstdio>
#include <cstdlib>

#include "rl_training/program.h"

int main(int argc, char** argv) {
  const int code = rl_training::run_program(argc, argv);
#ifndef __SANITIZE_ADDRESS__  // the sanitizer checks for leaks at exit
  // Exit without destructors, because destroying LibTorch's operators one by one takes time.
  std::fflush(nullptr);
  std::_Exit(code);
#else
  return code;
#endif
}
