#include <gtest/gtest.h>

#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

TEST(Dataset, IsRecordedConvertedAndInspected) {
  const TemporaryDirectory directory;
  const auto npz = directory / "random.npz";
  const auto made =
      run({"dataset", "collect", npz, "--env", "Pendulum-v1", "--size", "500", "--json"}).json();
  EXPECT_EQ(made["rows"], 500);
  EXPECT_EQ(made["episodes"], 3);

  const auto hdf5 = directory / "random.hdf5";
  const auto converted = run({"dataset", "convert", npz, hdf5, "--json"}).json();
  EXPECT_EQ(converted["rows"], 500);
  EXPECT_EQ(converted["return_mean"], made["return_mean"]);

  const auto report =
      run({"dataset", "inspect", hdf5, "--timeout-policy", "keep", "--json"}).json();
  EXPECT_EQ(report["kind"], "d4rl");
  EXPECT_EQ(report["rows"], 500);
  EXPECT_EQ(report["episodes"], 3);
  EXPECT_EQ(report["obs_dim"], 3);
  EXPECT_EQ(report["action_dim"], 1);
  EXPECT_EQ(report["transitions"], 500);
  EXPECT_EQ(report["terminals"], 0);
  EXPECT_EQ(report["timeouts"], 3);
}

TEST(Dataset, ABadFileIsOneLineAndExitThree) {
  const auto bad = run({"dataset", "inspect", SOURCE_DIR "/README.md", "--kind", "d4rl", "--json"});
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_NE(bad.err.find("README.md"), std::string::npos);
  EXPECT_EQ(bad.json()["error"]["code"], "data");
}

}  // namespace
}  // namespace rl_training
