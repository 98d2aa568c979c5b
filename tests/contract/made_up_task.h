#pragma once
#include <algorithm>

#include "tests/contract/algorithm_names.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_config.h"

namespace rl_training {

// These functions define an artificial task for an algorithm: spaces that its AlgorithmInfo
// supports, and batches with the columns that its options request.

inline Space obs_space(const AlgorithmInfo& info) {
  return info.image_observations ? Space::image(3, 16, 16) : Space::unbounded(5);
}

inline Space action_space(const AlgorithmInfo& info) {
  return info.actions == ActionKind::choices ? Space::discrete(3) : Space::unit_box(2);
}

// The options of the algorithm's starter config, with networks of the given width.
inline std::shared_ptr<AlgorithmOptions> small_options(const AlgorithmInfo& info,
                                                       int64_t width = 16) {
  auto options = read_train_config(load_config(starter_config(info.name))).algorithm;
  const auto text = std::to_string(width);
  ConfigNode widths;
  widths.kind = ConfigNode::Kind::list;
  widths.items = {ConfigNode::scalar(text), ConfigNode::scalar(text)};
  auto map = ConfigNode::map();
  for (const auto& row :
       list_options([&](OptionVisitor& visitor) { options->visit_options(visitor); })) {
    if (row.key.ends_with("hidden_sizes")) map.set(row.key, widths);
    if (row.key == "embed_dim") map.set(row.key, ConfigNode::scalar(text));
    if (row.key == "target_update_interval") map.set(row.key, ConfigNode::scalar("2"));
    if (row.key == "encoder_channels") map.set(row.key, ConfigNode::scalar("4"));
    if (row.key == "context_length") map.set(row.key, ConfigNode::scalar("4"));
    if (row.key == "gradient_updates_per_step") map.set(row.key, ConfigNode::scalar("3"));
  }
  OptionReader reader(map, "");
  options->visit_options(reader);
  return options;
}

inline std::unique_ptr<Algorithm> make_small(const AlgorithmInfo& info, uint64_t seed = 0,
                                             ThreadPool* pool = nullptr, int64_t width = 16) {
  AlgorithmContext context;
  context.obs = obs_space(info);
  context.action = action_space(info);
  context.seed = seed;
  context.compute.pool = pool;
  return make_algorithm(info.name, *small_options(info, width), context);
}

// Fills a tensor of shape [rows, ...] with random values of the space.
inline void fill_values(const torch::Tensor& tensor, const Space& space, Rng& rng) {
  if (space.is_discrete()) {
    auto* values = tensor.data_ptr<int64_t>();
    std::generate_n(values, tensor.numel(), [&] {
      return static_cast<int64_t>(rng.below(static_cast<uint64_t>(space.categories)));
    });
  } else if (space.is_image()) {
    auto* values = tensor.data_ptr<uint8_t>();
    std::generate_n(values, tensor.numel(), [&] { return static_cast<uint8_t>(rng.below(256)); });
  } else if (space.low.empty()) {
    rng.fill_normal(floats(tensor));
  } else {
    rng.fill_uniform(floats(tensor), -1, 1);
  }
}

inline torch::Tensor some_obs(const AlgorithmInfo& info, int64_t rows = 7) {
  BatchRequest request;
  request.rows = rows;
  request.columns = {BatchColumn::obs};
  const Batch batch(request, obs_space(info), action_space(info));
  Rng rng(4, "obs");
  fill_values(batch.obs(), obs_space(info), rng);
  return batch.obs();
}

// Random batches for an algorithm. All objects for the same algorithm and number of rows produce
// the same sequence of batches.
class Batches {
 public:
  explicit Batches(const AlgorithmInfo& info, int64_t rows = 24)
      : info_(info), request_(small_options(info)->request()) {
    request_.rows = rows;
    batch_ = Batch(request_, obs_space(info), action_space(info));
  }

  const Batch& next() {
    ended_ = torch::zeros({request_.rows});
    for (float& flag : floats(ended_)) flag = rng_.uniform() < 0.1 ? 1.0f : 0.0f;
    for (const auto column : request_.columns) fill(column);
    return batch_;
  }
  const std::vector<BatchColumn>& columns() const { return request_.columns; }

 private:
  void fill(BatchColumn column) {
    const auto& tensor = batch_.column(column);
    switch (column) {
      case BatchColumn::obs:
      case BatchColumn::next_obs:
        fill_values(tensor, obs_space(info_), rng_);
        break;
      case BatchColumn::action:
      case BatchColumn::next_action:
        fill_values(tensor, action_space(info_), rng_);
        break;
      case BatchColumn::terminated:
        tensor.copy_(per_row(ended_, tensor));
        break;
      case BatchColumn::discount:
        tensor.copy_(request_.gamma * (1.0 - per_row(ended_, tensor)));
        break;
      case BatchColumn::next_action_valid:
        for (float& flag : floats(tensor)) flag = rng_.uniform() < 0.9 ? 1.0f : 0.0f;
        break;
      case BatchColumn::timestep:
        tensor.copy_(torch::arange(tensor.size(-1)).expand_as(tensor));
        break;
      case BatchColumn::mask:
        fill_mask(tensor);
        break;
      case BatchColumn::reward:
      case BatchColumn::return_to_go:
      case BatchColumn::log_prob:
      case BatchColumn::value:
      case BatchColumn::advantage:
        rng_.fill_normal(floats(tensor));
        break;
    }
  }
  // Sets the mask of each row to 1 for a random number of first steps, at least one, and to 0 for
  // the rest.
  void fill_mask(const torch::Tensor& mask) {
    for (int64_t row = 0; row < mask.size(0); ++row) {
      const auto steps = static_cast<int64_t>(rng_.below(static_cast<uint64_t>(mask.size(1)))) + 1;
      mask[row].zero_().narrow(0, 0, steps).fill_(1);
    }
  }
  static torch::Tensor per_row(const torch::Tensor& flags, const torch::Tensor& like) {
    return like.dim() == 1 ? flags : flags.unsqueeze(1).expand_as(like);
  }

  const AlgorithmInfo& info_;
  BatchRequest request_;
  Batch batch_;
  torch::Tensor ended_;  // one flag per row
  Rng rng_{3, "batches"};
};

}  // namespace rl_training
