// Invalid options are rejected with an error that names the key, before anything is constructed.
#include <algorithm>

#include "tests/contract/algorithm_names.h"
#include "tests/support/tiny_config.h"

namespace rl_training {
namespace {

// A row of the table: the assignments, in the format of --set, and the key that the error names.
struct InvalidOption {
  std::string algo;
  std::vector<std::string> set;
  std::string key;

  InvalidOption(std::string name, const std::string& assignment)
      : algo(std::move(name)), set{assignment}, key(assignment.substr(0, assignment.find('='))) {}
  InvalidOption(std::string name, std::vector<std::string> assignments, std::string named_key)
      : algo(std::move(name)), set(std::move(assignments)), key(std::move(named_key)) {}
};

// Invalid assignments that every algorithm must reject.
const std::vector<std::string>& shared_assignments() {
  static const std::vector<std::string> table = {
      "gamma=-0.1",
      "gamma=1.1",
      "gamma=nan",
      "tau=0",
      "tau=1.5",
      "n_step=0",
      "learning_rate=0",
      "learning_rate=-1",
      "learning_rate=inf",
      "batch_size=0",
      "batch_size=2.5",
      "hidden_sizes=[]",
      "hidden_sizes=[256,0]",
      "max_updates=0",
      "warmup_steps=-1",
      "dataset_size=-1",
      "reward_scale=nan",
      "dataset_kind=d4rll",
  };
  return table;
}

const std::vector<InvalidOption>& own_table() {
  static const std::vector<InvalidOption> table = {
      {"td3_bc", "bc_alpha=0"},
      {"td3_bc", "bc_alpha=-2.5"},
      {"td3_bc", "policy_delay=0"},
      {"td3_bc", "policy_noise=-0.2"},
      {"td3_bc", "noise_clip=-0.5"},

      {"rebrac", "actor_bc_weight=0"},
      {"rebrac", "actor_bc_weight=-1"},
      {"rebrac", "critic_bc_weight=-0.01"},
      {"rebrac", "actor_q_weight=0"},
      {"rebrac", "policy_delay=0"},
      {"rebrac", "policy_noise=-0.2"},
      {"rebrac", "noise_clip=-0.5"},
      {"rebrac", "actor_learning_rate=0"},
      {"rebrac", "critic_learning_rate=0"},
      {"rebrac", "next_action_fallback=guess"},

      {"cql", "cql_alpha=-1"},
      {"cql", "n_action_samples=0"},
      {"cql", "cql_temperature=0"},
      {"cql", {"clip_diff_min=1", "clip_diff_max=1"}, "clip_diff_min"},
      {"cql", {"clip_diff_min=5", "clip_diff_max=-5"}, "clip_diff_min"},
      {"cql", "alpha=-0.1"},
      {"cql", "alpha=null"},
      {"cql", {"alpha=0.2", "target_entropy=-1"}, "target_entropy"},
      {"cql", "actor_learning_rate=0"},
      {"cql", "critic_learning_rate=-3e-4"},

      {"crr", "beta=0"},
      {"crr", "n_action_samples=0"},
      {"crr", "max_weight=0"},
      {"crr", "advantage_type=median"},
      {"crr", "weight_type=linear"},

      {"bcq", "n_action_samples=0"},
      {"bcq", "eval_action_samples=0"},
      {"bcq", "perturbation_scale=0"},
      {"bcq", "lambda_min=-0.1"},
      {"bcq", "lambda_min=1.1"},
      {"bcq", "vae_kl_weight=-0.5"},
      {"bcq", "latent_dim=-1"},

      {"bear", "mmd_sigma=0"},
      {"bear", "mmd_kernel=cauchy"},
      {"bear", "n_mmd_samples=0"},
      {"bear", "mmd_threshold=-0.05"},
      {"bear", "mmd_alpha=0"},
      {"bear", "lagrange_learning_rate=0"},
      {"bear", {"log_alpha_min=3", "log_alpha_max=-3"}, "log_alpha_min"},
      {"bear", "vae_kl_weight=-0.5"},
      {"bear", "n_action_samples=0"},
      {"bear", "lambda_min=1.1"},
      {"bear", "warmup_updates=-1"},

      {"awac", "awac_lambda=0"},
      {"awac", "max_weight=0"},
      {"awac", "weight_normalization=sum"},

      {"iql", "expectile=0"},
      {"iql", "expectile=1"},
      {"iql", "beta=-1"},
      {"iql", "max_weight=0"},

      {"sac_n", "num_critics=1"},
      {"edac", "num_critics=1"},
      {"edac", "eta=-1"},

      {"xql", "gumbel_temperature=0"},
      {"xql", "gumbel_clip=0"},
      {"xql", "value_action_noise=-0.1"},

      {"cal_ql", "num_critics=1"},
      {"cal_ql", "online_cql_alpha=-1"},
      {"cal_ql", {"num_critics=2", "num_min_critics=3"}, "num_min_critics"},
      {"cal_ql", {"gamma=1", "failure_reward=-1"}, "failure_reward"},

      {"fql", "flow_steps=0"},
      {"fql", "actor_bc_weight=-1"},
      {"fql", "target_q=max"},

      {"bc", "policy=uniform"},
      {"bc", "dataset_top_fraction=0"},
      {"bc", "dataset_top_fraction=1.1"},

      {"rlpd", "offline_batch_ratio=-0.1"},
      {"rlpd", "offline_batch_ratio=1.1"},
      {"rlpd", "offline_pretrain_updates=-1"},
      {"rlpd", "learning_starts=-1"},
      {"rlpd", "train_frequency=0"},
      {"rlpd", "gradient_updates_per_step=0"},
      {"rlpd", {"buffer_capacity=10", "batch_size=256"}, "buffer_capacity"},
      {"rlpd", "num_critics=1"},
      {"rlpd", "num_min_critics=0"},
      {"rlpd", {"num_critics=2", "num_min_critics=3"}, "num_min_critics"},
      {"rlpd", "alpha=-1"},

      {"sac", "alpha=-1"},
      {"sac", "alpha=auto:0"},
      {"sac", "alpha=automatic"},
      {"sac", {"buffer_capacity=10", "batch_size=256"}, "buffer_capacity"},

      {"td3", "policy_noise=-1"},
      {"td3", "noise_clip=-1"},
      {"td3", "policy_delay=0"},
      {"td3", "exploration_noise=-0.1"},

      {"ddpg", "exploration_noise=-0.1"},
      {"ddpg", "learning_starts=-1"},

      {"redq", {"num_critics=2", "num_min_critics=3"}, "num_min_critics"},
      {"redq", "num_min_critics=0"},
      {"redq", "gradient_updates_per_step=0"},

      {"tqc", "drop_per_critic=-1"},
      {"tqc", {"num_quantiles=5", "drop_per_critic=5"}, "drop_per_critic"},
      {"tqc", "num_critics=0"},

      {"crossq", "batch_size=1"},
      {"crossq", "policy_delay=0"},
      {"crossq", "adam_beta1=1"},
      {"crossq", "adam_beta1=-0.1"},
      {"crossq", "renorm_momentum=0"},
      {"crossq", "renorm_momentum=1"},
      {"crossq", "renorm_r_max=0.9"},
      {"crossq", "renorm_d_max=-1"},
      {"crossq", "renorm_warmup_steps=-1"},
      {"crossq", "critic_hidden_sizes=[]"},

      {"dqn", "epsilon_start=1.1"},
      {"dqn", "epsilon_end=-0.1"},
      {"dqn", "epsilon_steps=-1"},
      {"dqn", {"buffer_capacity=10", "batch_size=256"}, "buffer_capacity"},

      {"discrete_bc", "logit_penalty=-1"},
      {"discrete_bcq", "bcq_threshold=0"},
      {"discrete_bcq", "bcq_threshold=1"},
      {"discrete_bcq", "epsilon=1.1"},
      {"discrete_cql", "cql_alpha=-1"},

      {"ppo", "clip_range=0"},
      {"ppo", "gae_lambda=1.1"},
      {"ppo", "target_kl=0"},
      {"ppo", "epochs=0"},
      {"ppo", "rollout_steps=1"},
      {"ppo", {"batch_size=96"}, "batch_size"},
      {"ppo", {"batch_size=1"}, "batch_size"},
      {"ppo", {"num_envs=3"}, "rollout_steps"},
      {"ppo", "min_buffer_size=10"},
      {"ppo", "learning_starts=10"},

      {"trpo", "target_kl=0"},
      {"trpo", "damping=-0.1"},
      {"trpo", "cg_iterations=0"},
      {"trpo", "line_search_decay=1"},
      {"trpo", {"num_envs=3"}, "rollout_steps"},

      {"decision_transformer", "target_return=null"},
      {"decision_transformer", "return_scale=0"},
      {"decision_transformer", "context_length=0"},
      {"decision_transformer", "max_episode_length=199"},  // Pendulum's time limit is 200
      {"decision_transformer", {"embed_dim=8", "num_heads=3"}, "num_heads"},
      {"decision_transformer", "num_layers=0"},
      {"decision_transformer", "dropout=1"},
      {"decision_transformer", "weight_decay=-1"},
      {"decision_transformer", "gradient_clip_norm=0"},
      {"decision_transformer", "reward_scale=0.1"},
      {"decision_transformer", "reward_shift=1"},
      {"decision_transformer", "reward_clip_min=0"},
      {"decision_transformer", "reward_clip_max=0"},
      {"decision_transformer", "reward_preset=sign"},
  };
  return table;
}

void expect_refused(const InvalidOption& row) {
  auto root = load_config(starter_config(row.algo));
  for (const auto& assignment : row.set) set_config_value(root, assignment);
  try {
    read_train_config(root);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2) << error.what();
    EXPECT_EQ(error.place().key, "algo_kwargs." + row.key) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

class SharedInvalidOptions : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, SharedInvalidOptions, testing::ValuesIn(algorithm_names()),
                         name_of_test);

TEST_P(SharedInvalidOptions, AreRefusedByName) {
  for (const auto& assignment : shared_assignments()) {
    SCOPED_TRACE(assignment);
    expect_refused({GetParam(), assignment});
  }
}

// Some rows break rules that go beyond the range of a single key. OptionContract checks the ranges
// for every algorithm.
TEST(InvalidOptions, OwnOnesAreRefusedByName) {
  for (const auto& row : own_table()) {
    SCOPED_TRACE(row.algo + " " + row.set.back());
    expect_refused(row);
  }
}

TEST(InvalidOptions, RenamedKeysAreToldTheirNewName) {
  const struct {
    const char *algo, *old_key, *new_key;
  } table[] = {
      {"cql", "n_actions", "n_action_samples"},
      {"bcq", "num_action_samples", "n_action_samples"},
      {"bear", "num_target_samples", "n_action_samples"},
      {"bear", "num_mmd_action_samples", "n_mmd_samples"},
      {"bear", "behavior_kl_weight", "vae_kl_weight"},
      {"awac", "weight_normalisation", "weight_normalization"},
  };
  for (const auto& row : table) {
    auto root = load_config(starter_config(row.algo));
    set_config_value(root, std::string("algo_kwargs.") + row.old_key + "=1");
    try {
      read_train_config(root);
      ADD_FAILURE() << row.algo << " accepts " << row.old_key;
    } catch (const Error& error) {
      EXPECT_EQ(error.place().key, std::string("algo_kwargs.") + row.old_key);
      EXPECT_NE(std::string(error.what()).find(std::string("`") + row.new_key + "`"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace rl_training
