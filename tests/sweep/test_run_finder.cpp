#include <gtest/gtest.h>

#include "rl_training/experiment/run_directory.h"
#include "rl_training/experiment/yaml_writer.h"
#include "rl_training/sweep/run_finder.h"
#include "rl_training/util/file_system.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

// A run that started from the checkpoint of `runs/ab` did not start from the run `runs/a`.
TEST(RunFinder, ComparesWholePathsOfTheRunThatARunStartedFrom) {
  const TemporaryDirectory directory;
  auto config = read_train_config(load_config("td3_bc/pendulum"));
  config.output_dir = directory.path();
  const auto run = directory / (run_name(config.algo, task_name(config), 0) + "-20250101-000000");
  std::filesystem::create_directories(run);
  write_all(run + "/config.yaml", write_yaml(write_train_config(config)));
  const Json metadata = {{"from", {{"checkpoint", "/runs/ab/checkpoints/best"}}}};
  write_all(run + "/metadata.json", metadata.dump());
  const auto found = [&](const char* from) {
    return find_run(posix_file_system(), config, from) == run;
  };
  EXPECT_TRUE(found("/runs/ab"));
  EXPECT_TRUE(found("/runs/ab/checkpoints/best"));
  EXPECT_FALSE(found("/runs/a"));
  EXPECT_FALSE(found(""));
}

}  // namespace
}  // namespace rl_training
