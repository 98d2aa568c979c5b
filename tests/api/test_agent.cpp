#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "rl_training/rl_training.h"
#include "tests/experiment/logged_machine.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_config.h"

namespace rl_training {
namespace {

const std::vector<std::vector<double>> kObs = {{1, 0, 0}, {0, 1, -4}, {-0.6, 0.8, 7.5}};

template <class Learner>
std::vector<double> actions_of(Learner& agent) {
  std::vector<double> actions;
  for (const auto& obs : kObs) actions.push_back(agent.predict(obs).at(0));
  return actions;
}

// Creates an agent without a config file.
TD3BC small_agent(const std::string& output_dir, int64_t updates = 60) {
  Td3BcOptions options;
  options.hidden_sizes = {16, 16};
  options.batch_size = 32;
  TrainConfig config;
  config.output_dir = output_dir;
  config.total_timesteps = updates;
  config.threads = 1;
  config.eval_episodes = 2;
  config.eval_interval = 20;
  config.log_interval = 5;
  config.checkpoint_interval = 7;
  config.dataset.source.size = 600;
  return TD3BC("Pendulum-v1", options, config);
}

TEST(Agent, LearnsAndReports) {
  const TemporaryDirectory directory;
  auto agent = small_agent(directory / "runs");
  const auto before = actions_of(agent);
  std::vector<int64_t> evaluated;
  Callbacks callbacks;
  callbacks.on_eval_end = [&](const TrainProgress& progress, const EvaluationResult&) {
    evaluated.push_back(progress.update_count);
  };
  const auto result = agent.learn(callbacks);
  EXPECT_EQ(evaluated, (std::vector<int64_t>{0, 20, 40, 60}));
  EXPECT_EQ(result.summary.update_count, 60);
  EXPECT_EQ(result.summary.stop_reason, "total_timesteps");
  EXPECT_EQ(result.checkpoint, result.run_dir + "/checkpoints/step-000000060");
  EXPECT_NE(actions_of(agent), before);
  for (const double action : actions_of(agent)) EXPECT_LE(std::abs(action), 2.0);  // torque limit

  // With seed 0, evaluate() plays the same episodes as the last evaluation of the run.
  const auto evaluation = agent.evaluate(2, /*seed=*/0);
  EXPECT_EQ(evaluation.return_mean, result.summary.metrics["eval_return_mean"].get<double>());
  EXPECT_EQ(evaluation.lengths, (std::vector<int64_t>{200, 200}));
  EXPECT_NE(agent.evaluate(2, 1).return_mean, evaluation.return_mean);
  EXPECT_EQ(agent.evaluate(3).returns.size(), 3u);
}

TEST(Agent, OptionsInCodeAreThoseOfAFile) {
  const TemporaryDirectory directory;
  auto in_code = small_agent(directory / "code");
  auto from_file = Agent(tiny_config("td3_bc", directory / "file"));
  EXPECT_EQ(config_hash(in_code.config()), config_hash(from_file.config()));
  in_code.learn();
  from_file.learn();
  EXPECT_EQ(actions_of(in_code), actions_of(from_file));
}

// The published fine-tuning of AWAC draws uniformly from dataset rows and new rows, so AWAC has no
// offline_batch_ratio by default.
TEST(Agent, DefaultsOfTheAlgorithmHoldInCodeToo) {
  auto config = default_config("awac");
  config.online.used = true;
  EXPECT_FALSE(AWAC("Pendulum-v1", {}, config).config().online.offline_batch_ratio);
  config.online.offline_batch_ratio = 0.25;
  EXPECT_EQ(AWAC("Pendulum-v1", {}, config).config().online.offline_batch_ratio, 0.25);
  config = default_config("td3_bc");
  config.online.used = true;
  EXPECT_EQ(TD3BC("Pendulum-v1", {}, config).config().online.offline_batch_ratio, 0.5);
}

TEST(Agent, OptionsInCodeAreChecked) {
  Td3BcOptions options;
  options.gamma = 1.5;
  try {
    TD3BC("Pendulum-v1", options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(error.place().key, "algo_kwargs.gamma");
  }
  EXPECT_THROW(TD3BC("Pendulun-v1", Td3BcOptions()), Error);
  TrainConfig config;
  config.log_interval = 0;
  EXPECT_THROW(TD3BC("Pendulum-v1", Td3BcOptions(), config), Error);
}

TEST(Agent, ComesFromAPackagedConfig) {
  const auto agent = TD3BC::from_config("td3_bc/pendulum");
  EXPECT_EQ(agent.config().algo, "td3_bc");
  EXPECT_EQ(agent.config().dataset.source.id, "pendulum/medium");
  EXPECT_THROW(TD3BC::from_config("td3_bc/nothing"), Error);
}

TEST(Agent, PredictsTheSameAfterSavingAndLoading) {
  const TemporaryDirectory directory;
  auto agent = small_agent(directory / "runs");
  agent.save(directory / "untrained");
  auto untrained = TD3BC::load(directory / "untrained");
  EXPECT_EQ(actions_of(untrained), actions_of(agent));

  const auto result = agent.learn();
  const auto expected = actions_of(agent);
  agent.save(directory / "saved");
  for (const auto& place : {directory / "saved", result.run_dir, result.checkpoint,
                            result.run_dir + "/checkpoints/step-000000056"}) {
    auto loaded = TD3BC::load(place);
    EXPECT_EQ(actions_of(loaded) == expected, !place.ends_with("56")) << place;
    EXPECT_EQ(loaded.evaluate(2).returns == agent.evaluate(2).returns, !place.ends_with("56"));
  }
  // A saved agent can be loaded and saved again, and saving to an existing path replaces its
  // content.
  auto loaded = Agent::load(directory / "saved");
  loaded.save(directory / "untrained");
  auto replaced = Agent::load(directory / "untrained");
  EXPECT_EQ(actions_of(replaced), expected);
}

TEST(Agent, ALoadedOneGoesOnLearning) {
  const TemporaryDirectory directory;
  auto agent = small_agent(directory / "runs");
  agent.save(directory / "untrained");
  const auto result = agent.learn();
  auto loaded = TD3BC::load(result.run_dir + "/checkpoints/step-000000049");
  EXPECT_NE(actions_of(loaded), actions_of(agent));
  EXPECT_NE(loaded.learn().run_dir, result.run_dir);
  EXPECT_EQ(actions_of(loaded), actions_of(agent));
  // A policy-only checkpoint has no optimiser state. learn() rejects it, because training would
  // silently restart the optimisers.
  EXPECT_THROW(TD3BC::load(directory / "untrained").learn(), Error);
}

TEST(Agent, ResumesExactly) {
  const TemporaryDirectory directory;
  auto straight = small_agent(directory / "straight", 90);
  const auto whole = straight.learn();

  auto first = std::make_unique<TD3BC>(small_agent(directory / "resumed"));
  const auto part = first->learn();
  first->save(directory / "saved");
  first.reset();  // releases the lock of the run directory

  // Resuming a checkpoint that was saved outside a run directory creates a new run directory.
  auto elsewhere = TD3BC::resume(directory / "saved", 90);
  const auto other = elsewhere.learn();
  EXPECT_NE(other.run_dir, part.run_dir);
  EXPECT_EQ(actions_of(elsewhere), actions_of(straight));

  auto resumed = TD3BC::resume(part.run_dir, 90);
  EXPECT_EQ(resumed.config().total_timesteps, 90);
  const auto rest = resumed.learn();
  EXPECT_EQ(rest.run_dir, part.run_dir);
  EXPECT_EQ(actions_of(resumed), actions_of(straight));
  EXPECT_EQ(rest.summary.metrics, whole.summary.metrics);
  for (const char* file : {"/checkpoints/step-000000090/tensors.safetensors", "/metrics.jsonl"}) {
    EXPECT_NE(read_all(whole.run_dir + file), "");
    EXPECT_TRUE(read_all(rest.run_dir + file) == read_all(whole.run_dir + file)) << file;
  }

  // learn() on a finished run returns the result of the run.
  const auto again = resumed.learn();
  EXPECT_EQ(again.summary.update_count, 90);
  EXPECT_EQ(again.summary.metrics, whole.summary.metrics);
}

StopRequests* asked = nullptr;
std::atomic<pid_t> handled_in{0};

void stop_training(int signal) {
  asked->request_stop(signal);
  handled_in = ::gettid();
}

// Imitates a host program that writes a checkpoint on Ctrl-C.
TEST(Agent, AHandlerOfTheProgramStopsItFromAnotherThread) {
  const TemporaryDirectory directory;
  auto agent = small_agent(directory / "runs");
  StopRequests requests;
  asked = &requests;
  struct sigaction action {
  }, previous{};
  action.sa_handler = stop_training;
  sigaction(SIGINT, &action, &previous);
  Callbacks callbacks;
  callbacks.on_update_end = [](const TrainProgress& progress, const Metrics&) {
    if (progress.update_count != 9) return;
    ::kill(::getpid(), SIGINT);
    while (handled_in == 0) std::this_thread::yield();
  };
  const auto result = agent.learn(callbacks, &requests);
  struct sigaction after {};
  sigaction(SIGINT, &previous, &after);
  EXPECT_EQ(after.sa_handler, &stop_training);
  EXPECT_NE(handled_in, ::gettid());
  EXPECT_EQ(requests.stop(), SIGINT);
  EXPECT_EQ(result.summary.stop_reason, "signal");
  EXPECT_EQ(result.checkpoint, result.run_dir + "/checkpoints/step-000000009");
}

TEST(Agent, LearnsOnToANewEndAndAfterAnException) {
  const TemporaryDirectory directory;
  auto straight = small_agent(directory / "straight");
  straight.learn();
  auto agent = small_agent(directory / "pieces");
  agent.set_total_timesteps(30);
  EXPECT_EQ(agent.learn().summary.update_count, 30);
  const auto run_dir = agent.run_dir();
  agent.set_total_timesteps(60);
  Callbacks failing;
  failing.on_update_end = [](const TrainProgress& progress, const Metrics&) {
    if (progress.update_count == 50) throw std::runtime_error("of the program");
  };
  EXPECT_THROW(agent.learn(failing), std::runtime_error);
  auto last_good = Agent::load(run_dir + "/checkpoints/step-000000049");
  EXPECT_EQ(actions_of(agent), actions_of(last_good));
  EXPECT_EQ(agent.learn().summary.update_count, 60);
  EXPECT_EQ(agent.run_dir(), run_dir);
  EXPECT_EQ(actions_of(agent), actions_of(straight));
  agent.close();
  EXPECT_EQ(agent.run_dir(), run_dir);
  EXPECT_NO_THROW(Agent::resume(run_dir));  // the lock has been released
}

TEST(Agent, IsEvaluatedElsewhere) {
  const TemporaryDirectory directory;
  auto agent = small_agent(directory / "runs");
  const auto own = agent.evaluate(2, 5);
  EXPECT_EQ(agent.evaluate(2, 5, {"Pendulum-v1", nullptr}).returns, own.returns);
  try {
    agent.evaluate(2, 5, {"MountainCarContinuous-v0", nullptr});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
    EXPECT_EQ(error.place().key, "spaces");
  }
  StopRequests requests;
  requests.request_stop(SIGINT);
  EXPECT_TRUE(agent.evaluate(2, 5, {"", &requests}).cut_short);
}

std::shared_ptr<MemoryArrays> some_arrays(float reward) {
  std::vector<float> obs, actions, rewards;
  std::vector<uint8_t> terminals, timeouts;
  for (int row = 0; row < 40; ++row) {
    obs.insert(obs.end(), {0.1f * row, 1.0f - row});
    actions.push_back(row % 2 == 0 ? -3.0f : 3.0f);
    rewards.push_back(reward);
    terminals.push_back(0);
    timeouts.push_back(row % 10 == 9);
  }
  auto arrays = std::make_shared<MemoryArrays>();
  arrays->add("observations", {40, 2}, Column<float>(obs));
  arrays->add("actions", {40, 1}, Column<float>(actions));
  arrays->add("rewards", {40}, Column<float>(rewards));
  arrays->add("terminals", {40}, Column<uint8_t>(terminals));
  arrays->add("timeouts", {40}, Column<uint8_t>(timeouts));
  return arrays;
}

TEST(Agent, LearnsFromArraysThatNoFileHolds) {
  const TemporaryDirectory directory;
  auto config = small_agent(directory / "runs").config();
  config.env_id = kNoEnvironment;
  config.eval_episodes = 0;
  config.dataset.source = {};
  config.dataset.source.kind = kMemoryKind;
  config.dataset.source.arrays = some_arrays(1);
  config.total_timesteps = 20;
  Agent agent(config);
  const auto run_dir = agent.learn().run_dir;
  EXPECT_NEAR(std::abs(agent.predict({0.5, 0.5}).at(0)), 1.5, 1.5);  // |action| <= 3 as in the data
  agent.close();
  const auto message_of = [&](std::shared_ptr<MemoryArrays> arrays) {
    ResumeChanges changes;
    changes.arrays = std::move(arrays);
    try {
      Agent::resume(run_dir, changes);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message_of(nullptr).find("arrays in memory"), std::string::npos);
  EXPECT_NE(message_of(some_arrays(2)).find("not the one this run was trained on"),
            std::string::npos);
  EXPECT_EQ(message_of(some_arrays(1)), "no error");
}

TEST(Agent, ObservationsMustFit) {
  auto agent = Agent::from_config("td3_bc/pendulum-random");
  try {
    agent.predict({1, 2});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_EQ(error.place().key, "obs");
  }
}

// The observation and action spaces of the policy come from the data, so predict() needs learn()
// first.
TEST(AgentWithoutEnvironment, PredictsOnceItHasLearnt) {
  const TemporaryDirectory directory;
  const auto log = write_machine_log(directory / "log.npz");
  Agent agent(machine_config(log, directory / "runs"));
  EXPECT_EQ(agent.config().algo, "td3_bc");
  EXPECT_THROW(agent.predict({0.1, 0.2}), Error);
  const auto result = agent.learn();
  const auto action = agent.predict({0.1, 0.2});
  ASSERT_EQ(action.size(), 2u);
  EXPECT_EQ(Agent::load(result.run_dir).predict({0.1, 0.2}), action);
  EXPECT_THROW(agent.evaluate(1), Error);
}

}  // namespace
}  // namespace rl_training
