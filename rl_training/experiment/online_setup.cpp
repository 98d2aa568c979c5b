#include "rl_training/experiment/online_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rl_training/envs/registry.h"
#include "rl_training/runtime/hindsight.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/hash.h"

namespace rl_training {
namespace {

// Beyond so many files the rows are written anew as one.
constexpr size_t kMaxSegments = 500;
constexpr std::string_view kPrefix = "replay-", kSuffix = ".rows";

std::string segment_name(int64_t first) {
  return fmt::format("{}{:012}{}", kPrefix, first, kSuffix);
}

// The number of the first row, from the name of the file.
int64_t first_row(const std::string& name) {
  int64_t first = -1;
  if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) {
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size() - kSuffix.size(),
                    first);
  }
  return first;
}

}  // namespace

OnlineSetup::OnlineSetup(const TrainConfig& config, TrainedPolicy& policy, Sampler* dataset,
                         const RewardTransform& reward)
    : buffer_(config.online()->buffer_capacity, policy.env().obs_dim, policy.env().action.dims(),
              config.num_envs) {
  const auto& online = *config.online();
  const auto seed = static_cast<uint64_t>(config.seed);
  if (online.her.used) {
    goal_env_ = make_environment(config.env_id, config.env);
    replay_ =
        std::make_unique<HindsightSampler>(buffer_, policy.normalizer(), *goal_env_->goal_task(),
                                           reward, online.her, Rng(seed, "replay"));
  } else {
    replay_ = std::make_unique<ReplaySampler>(buffer_, policy.normalizer(), Rng(seed, "replay"));
  }
  if (dataset != nullptr) {
    mixture_ = std::make_unique<MixtureSampler>(*dataset, *replay_, online.offline_batch_ratio,
                                                Rng(seed, "mixture"));
  }
  Collector::Options options;
  options.learning_starts = online.learning_starts;
  options.reward = reward;
  collector_ = std::make_unique<Collector>(
      VectorEnv(config.env_id, config.num_envs, seed, "env", &policy.pool(), config.env), buffer_,
      policy.algorithm(), policy.normalizer(), options, Rng(seed, "explore"));
}

OnlinePlan OnlineSetup::plan(const TrainConfig& config) {
  const auto& online = *config.online();
  OnlinePlan plan;
  // All environments step together, so the last step may go a little beyond.
  const int64_t steps = config.goes_online ? config.online_timesteps : config.total_timesteps;
  plan.env_steps = (steps + config.num_envs - 1) / config.num_envs * config.num_envs;
  plan.pretrain_updates =
      config.goes_online ? config.total_timesteps : online.offline_pretrain_updates;
  plan.first_update_step = online.learning_starts;
  plan.train_frequency = online.train_frequency;
  plan.gradient_updates_per_step = online.gradient_updates_per_step;
  plan.after_offline = config.goes_online;
  if (config.goes_online) return plan;  // warm-up and smallest number of rows were the dataset's
  plan.first_update_step = std::max(online.learning_starts, config.schedule.warmup_steps);
  plan.min_rows = std::max<int64_t>(1, config.budget.min_buffer_size);
  return plan;
}

void OnlineSetup::visit_state(StateVisitor& state) {
  state.part("buffer", buffer_);
  state.part("sampler", *replay_);
  if (mixture_ != nullptr) state.part("mixture", *mixture_);
  state.part("collector", *collector_);
}

void OnlineSetup::load_rows(const Checkpoint& checkpoint) {
  for (const auto& file : checkpoint.files) {
    const int64_t first = first_row(file.name);
    if (first < 0) {
      throw Error(ErrorKind::checkpoint, {file.existing, 0, ""}, "not a file of replay rows");
    }
    try {
      buffer_.restore(first, file.bytes());
    } catch (const Error& error) {
      throw Error(ErrorKind::checkpoint, {file.existing, 0, ""}, error.message());
    }
    segments_.push_back({first, buffer_.total() - first, file});
  }
  if (!buffer_.complete()) {
    throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, ""},
                "replay rows are missing: those before " + segments_.front().file.name);
  }
}

std::vector<CheckpointFile> OnlineSetup::checkpoint_files() {
  pending_ = segments_;
  std::erase_if(pending_, [&](const Segment& s) { return s.first + s.rows <= buffer_.first(); });
  const bool gone = std::any_of(pending_.begin(), pending_.end(), [](const Segment& s) {
    return !posix_file_system().exists(s.file.existing);
  });
  if (gone || pending_.size() >= kMaxSegments) pending_.clear();  // everything is in memory, too
  const int64_t saved =
      pending_.empty() ? buffer_.first() : pending_.back().first + pending_.back().rows;
  if (saved < buffer_.total()) {
    const auto bytes =
        std::make_shared<const std::string>(buffer_.encode(saved, buffer_.total() - saved));
    CheckpointFile file{segment_name(saved), bytes->size(), sha256_hex(*bytes), "",
                        [bytes] { return *bytes; }};
    pending_.push_back({saved, buffer_.total() - saved, std::move(file)});
  }
  std::vector<CheckpointFile> files;
  for (const auto& segment : pending_) files.push_back(segment.file);
  return files;
}

void OnlineSetup::saved_in(const std::string& directory) {
  segments_ = std::move(pending_);
  pending_.clear();
  for (auto& segment : segments_) {
    segment.file.existing = directory + "/" + segment.file.name;
    segment.file.bytes = [path = segment.file.existing] {
      return posix_file_system().read_file(path);
    };
  }
}

}  // namespace rl_training
