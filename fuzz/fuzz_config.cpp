// Parses an untrusted config. Every input must result in a config tree or an Error.
#include "rl_training/experiment/yaml_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    rl_training::read_yaml(text, "config.yaml");
  } catch (const rl_training::Error&) {
  }
  return 0;
}
