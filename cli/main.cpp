#include "cli/tensor_commands.h"

int main(int argc, char** argv) { return rl_training::run_commands(argc, argv, nullptr); }
