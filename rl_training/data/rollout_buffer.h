#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/data/batch_request.h"
#include "rl_training/data/sampler.h"
#include "rl_training/data/space.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Input of generalised advantage estimation (arXiv:1506.02438) over T steps of E environments. All
// spans have shape [T, E] except `last_values`, which has shape [E]. `ended` is 1 at the last step
// of an episode. The reward of a truncated step already includes gamma V(final observation).
struct GaeInput {
  std::span<const float> rewards, values;
  std::span<const uint8_t> ended;
  std::span<const float> last_values;  // values of the observations after the last step
  double gamma = 0.99, lambda = 0.95;
};
void generalized_advantages(const GaeInput& input, std::span<float> advantages);

// T steps of E environments, collected with the current policy. The steps are used for a few passes
// and then discarded. Observations are stored after normalisation, as the policy receives them.
// Actions are stored as sampled, before clipping.
class RolloutBuffer {
 public:
  // One step of all environments. Each array has E entries.
  struct Step {
    const void *obs, *actions;
    const float *log_probs, *values, *rewards;
    const uint8_t* ended;
  };

  RolloutBuffer(const Space& obs, const Space& action, int64_t steps, int64_t envs);

  int64_t capacity() const { return steps_ * envs_; }
  int64_t rows() const { return filled_ * envs_; }
  bool full() const { return filled_ == steps_; }
  void add(const Step& step);
  // Computes the advantages of a full buffer.
  void finish(std::span<const float> last_values, double gamma, double lambda);
  void clear() { filled_ = 0; }

  // Copies a row to index i of a batch.
  void gather(int64_t row, const BatchView& batch, int64_t i) const;

  // Visits the steps that were added. Does not visit the advantages, because they are computed and
  // used before the next step is added.
  void visit_state(StateVisitor& state);

 private:
  int64_t steps_, envs_, filled_ = 0;
  Space obs_space_, action_space_;
  std::vector<unsigned char> obs_, actions_;
  std::vector<float> log_probs_, values_, rewards_, advantages_;
  std::vector<uint8_t> ended_;
};

// Throws Error{config} if the request contains a column that rollouts do not have.
void check_rollout_columns(const BatchRequest& request);

// Draws minibatches from a full rollout. Between two calls to shuffle(), every row is drawn at most
// once.
class RolloutSampler final : public Sampler {
 public:
  RolloutSampler(const RolloutBuffer& buffer, const BatchRequest& request, Rng rng);

  int64_t rows() const override { return buffer_.rows(); }
  // Starts a pass over the rows in a new random order. Call this before the first minibatch.
  void shuffle();
  void sample(const BatchView& batch) override;
  // Visits only the random stream, because a pass always ends before anything is saved.
  void visit_state(StateVisitor& state) override { state.part("rng", rng_); }

 private:
  const RolloutBuffer& buffer_;
  Rng rng_;
  std::vector<int64_t> order_;
  size_t next_ = 0;
};

}  // namespace rl_training
