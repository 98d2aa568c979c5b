#include "rl_training/data/sampler.h"

#include <algorithm>
#include <utility>

#include "rl_training/data/dataset_columns.h"
#include "rl_training/util/error.h"

namespace rl_training {

BatchView BatchView::part(int64_t first_row, int64_t count) const {
  const auto moved = [&]<class T>(T* data, int64_t width) {
    return data == nullptr ? nullptr : data + first_row * steps * width;
  };
  BatchView view = *this;
  view.rows = count;
  view.obs = moved(obs, obs_bytes);
  view.next_obs = moved(next_obs, obs_bytes);
  view.action = moved(action, action_bytes);
  view.next_action = moved(next_action, action_bytes);
  view.reward = moved(reward, 1);
  view.terminated = moved(terminated, 1);
  view.discount = moved(discount, 1);
  view.next_action_valid = moved(next_action_valid, 1);
  view.return_to_go = moved(return_to_go, 1);
  view.mask = moved(mask, 1);
  view.log_prob = moved(log_prob, 1);
  view.value = moved(value, 1);
  view.advantage = moved(advantage, 1);
  view.timestep = moved(timestep, 1);
  return view;
}

void check_columns(const BatchRequest& request, std::initializer_list<BatchColumn> offered,
                   const char* source) {
  for (const auto column : request.columns) {
    if (std::find(offered.begin(), offered.end(), column) != offered.end()) continue;
    throw Error(ErrorKind::config, {"", 0, column_name(column)},
                std::string(source) + " cannot fill this column of a batch");
  }
}

UniformSampler::UniformSampler(std::shared_ptr<const TransitionDataset> dataset,
                               ObsNormalizer normalizer, BatchRequest request, Rng rng,
                               ThreadPool* pool)
    : dataset_(std::move(dataset)),
      normalizer_(std::move(normalizer)),
      request_(std::move(request)),
      gamma_(static_cast<float>(request_.gamma)),
      reads_ahead_(DatasetColumns::may_exceed_memory(*dataset_)),
      rng_(rng),
      pool_(pool) {
  using enum BatchColumn;
  check_columns(request_,
                {obs, action, reward, next_obs, terminated, discount, next_action,
                 next_action_valid, return_to_go},
                "a dataset of transitions");
  if (dataset_->rows() == 0) throw Error(ErrorKind::data, "cannot sample from an empty dataset");
  const auto needs = [&](BatchColumn column, bool there, const char* what) {
    if (!request_.has(column) || there) return;
    throw Error(ErrorKind::data, {"", 0, column_name(column)},
                std::string("the dataset has no ") + what);
  };
  needs(next_action, dataset_->has_next_actions(), "next actions");
  needs(next_action_valid, dataset_->has_next_actions(), "next actions");
  needs(return_to_go, dataset_->has_returns_to_go(), "returns to go");
  normalizer_.check(dataset_->obs_space());
  if (!request_.priorities.used) return;
  priorities_.emplace(request_.priorities.reset_interval);
  priorities_->grow(dataset_->rows());
  reads_ahead_ = false;  // the next rows depend on the priorities that the update sets
}

void UniformSampler::sample(const BatchView& batch) {
  indices_.resize(static_cast<size_t>(batch.rows));
  if (priorities_) {
    for (int64_t& index : indices_) index = priorities_->draw(rng_);
  } else {
    rng_.fill_below(indices_, static_cast<uint64_t>(dataset_->rows()));
  }
  // Each thread copies one range of rows, because prefetching starts again in every range.
  constexpr int64_t kFewestRows = 64;
  const int64_t threads = pool_ == nullptr ? 1 : pool_->size();
  const int64_t ranges = std::clamp<int64_t>(batch.rows / kFewestRows, 1, threads);
  run_tasks(pool_, ranges, [&](int64_t range) {
    prefetch_and_gather(batch, range * batch.rows / ranges, (range + 1) * batch.rows / ranges);
  });
  if (reads_ahead_) read_ahead(batch.rows);
}

void UniformSampler::visit_state(StateVisitor& state) {
  state.part("rng", rng_);
  if (priorities_) state.part("priorities", *priorities_);
}

// While this batch is processed, the kernel reads the observations and actions of the next batch,
// and the row records of the batch after that. A copy of the random stream draws both batches in
// advance. sample() later draws the same rows, so the indices need not be saved.
void UniformSampler::read_ahead(int64_t rows) {
  Rng later = rng_;
  later_indices_.resize(static_cast<size_t>(rows));
  later.fill_below(later_indices_, static_cast<uint64_t>(dataset_->rows()));
  DatasetColumns::read_ahead(*dataset_, later_indices_);
  later.fill_below(later_indices_, static_cast<uint64_t>(dataset_->rows()));
  DatasetColumns::read_ahead_places(*dataset_, later_indices_);
}

// Rows are scattered in memory, so each row is prefetched before it is used. The row record is
// prefetched first, then the observations and actions at its slot.
void UniformSampler::prefetch_and_gather(const BatchView& batch, int64_t first, int64_t end) const {
  constexpr int64_t kRowAhead = 16, kObsAhead = 8, kCacheLine = 64;
  const TransitionDataset& data = *dataset_;
  const int64_t obs_bytes = 2 * data.obs_space().bytes();
  for (int64_t i = first - kRowAhead; i < end; ++i) {
    // The prefetches are written inline in this loop. If they were in a separate function, GCC
    // would assume that the function has no effect and remove the call.
    if (i + kRowAhead < end) {
      const int64_t row = indices_[i + kRowAhead];
      __builtin_prefetch(data.row_address(row));
    }
    if (i + kObsAhead >= first && i + kObsAhead < end) {
      const int64_t row = indices_[i + kObsAhead];
      __builtin_prefetch(data.action_bytes(row));
      const unsigned char* obs = data.obs_bytes(row);
      for (int64_t k = 0; k < obs_bytes; k += kCacheLine) __builtin_prefetch(obs + k);
      __builtin_prefetch(obs + obs_bytes - 1);
    }
    if (i >= first) gather_row(batch, i);
  }
}

void UniformSampler::gather_row(const BatchView& batch, int64_t i) const {
  const TransitionDataset& data = *dataset_;
  const int64_t row = indices_[i];
  StepSpan span{row, data.reward(row), data.terminated(row) ? 0.0f : gamma_};
  if (request_.n_step > 1) span = span_steps(data, row, request_);
  const int64_t last = span.last_row;
  if (batch.obs) normalizer_.apply(data.obs_bytes(row), batch.obs + i * batch.obs_bytes);
  if (batch.next_obs) {
    normalizer_.apply(data.next_obs_bytes(last), batch.next_obs + i * batch.obs_bytes);
  }
  const auto copy_action = [&](const unsigned char* action, unsigned char* out) {
    copy_entry(action, batch.action_bytes, out + i * batch.action_bytes);
  };
  if (batch.action) copy_action(data.action_bytes(row), batch.action);
  if (batch.reward) batch.reward[i] = span.reward;
  if (batch.discount) batch.discount[i] = span.discount;
  if (batch.return_to_go) batch.return_to_go[i] = data.return_to_go(row);
  if (batch.terminated) batch.terminated[i] = data.terminated(last) ? 1.0f : 0.0f;
  if (batch.next_action) copy_action(data.next_action_bytes(last), batch.next_action);
  if (batch.next_action_valid) {
    batch.next_action_valid[i] = data.next_action_valid(last) ? 1.0f : 0.0f;
  }
}

}  // namespace rl_training
