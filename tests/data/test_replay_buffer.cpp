#include <gtest/gtest.h>

#include <set>

#include "rl_training/data/replay_sampler.h"
#include "rl_training/util/error.h"
#include "tests/data/batch_memory.h"
#include "tests/support/memory_state.h"

namespace rl_training {
namespace {

const Space kObs = Space::unbounded(2), kAction = Space::unit_box(1);

// Adds rows. All values of row n are derived from n. `ends` lists the rows at which an episode
// ends.
void fill(ReplayBuffer& buffer, int64_t rows, const std::vector<int64_t>& ends = {}) {
  for (int64_t i = 0; i < rows; ++i) {
    const auto n = static_cast<float>(buffer.total());
    const float obs[2] = {n, -n}, next_obs[2] = {n + 1, -n - 1};
    const bool end = std::find(ends.begin(), ends.end(), buffer.total()) != ends.end();
    buffer.add(obs, &n, 10 * n, next_obs, end && buffer.total() % 2 == 0,
               end && buffer.total() % 2 == 1);
  }
}

TEST(ReplayBuffer, KeepsTheNewestRowsUnderTheirNumbers) {
  ReplayBuffer buffer(4, kObs, kAction);
  fill(buffer, 3);
  EXPECT_EQ(buffer.first(), 0);
  EXPECT_EQ(buffer.rows(), 3);
  fill(buffer, 3, {4});
  EXPECT_EQ(buffer.total(), 6);
  EXPECT_EQ(buffer.first(), 2);
  EXPECT_EQ(buffer.rows(), 4);
  for (int64_t row = 2; row < 6; ++row) {
    EXPECT_EQ(buffer.obs(row)[1], static_cast<float>(-row));
    EXPECT_EQ(buffer.next_obs(row)[0], static_cast<float>(row + 1));
    EXPECT_EQ(buffer.action(row)[0], static_cast<float>(row));
    EXPECT_EQ(buffer.reward(row), static_cast<float>(10 * row));
    EXPECT_EQ(buffer.terminated(row), row == 4);
  }
}

TEST(ReplayBuffer, KnowsTheEpisodesOfEachEnvironment) {
  ReplayBuffer buffer(100, kObs, kAction, /*streams=*/2);
  // Stream 0 has the rows 0 2 4 | 6 8, and stream 1 has the rows 1 3 5 7 | 9, where | ends an
  // episode.
  fill(buffer, 10, {4, 7});
  EXPECT_EQ(buffer.episode_begin(4), 0);
  EXPECT_EQ(buffer.episode_end(2), 4);
  EXPECT_EQ(buffer.episode_end(3), 7);
  EXPECT_EQ(buffer.episode_begin(8), 6);
  EXPECT_EQ(buffer.episode_end(8), -1);
  EXPECT_EQ(buffer.episode_begin(9), 9);
  EXPECT_TRUE(buffer.has_finished_episode());
}

TEST(ReplayBuffer, RowsComeBackFromTheirBytes) {
  ReplayBuffer buffer(8, kObs, kAction);
  fill(buffer, 13, {6, 9});
  ReplayBuffer again(8, kObs, kAction);
  again.restore(5, buffer.encode(5, 3));
  again.restore(8, buffer.encode(8, 5));
  ASSERT_EQ(again.total(), 13);
  ASSERT_EQ(again.first(), 5);
  EXPECT_EQ(again.encode(5, 8), buffer.encode(5, 8));
  for (int64_t row = 5; row < 13; ++row) {
    EXPECT_EQ(again.episode_end(row), buffer.episode_end(row)) << row;
  }
  EXPECT_THROW(again.restore(20, buffer.encode(5, 1)), Error);
  EXPECT_THROW(again.restore(13, "short"), Error);
}

// Stream 0 has the rows 0 2 4 | 6 8 10 12, and stream 1 has the rows 1 3 5 7 9 | 11, where | ends
// an episode. Rows before 5 are no longer stored. The stored part of an episode must start with a
// row of the same stream.
TEST(ReplayBuffer, EpisodesThatComeBackInPartStayInTheirStream) {
  ReplayBuffer buffer(8, kObs, kAction, /*streams=*/2);
  fill(buffer, 13, {4, 9});
  ReplayBuffer again(8, kObs, kAction, /*streams=*/2);
  again.restore(5, buffer.encode(5, 8));
  EXPECT_EQ(again.episode_begin(5), 5);
  EXPECT_EQ(again.episode_begin(6), 6);
  EXPECT_EQ(again.episode_begin(9), 5);
  EXPECT_EQ(again.episode_begin(12), 6);
  EXPECT_EQ(again.episode_begin(11), 11);
  for (int64_t row = 5; row < 13; ++row) {
    EXPECT_EQ(again.episode_end(row), buffer.episode_end(row)) << row;
  }
}

TEST(ReplaySampler, DrawsEveryRowThatIsThereAndNoOther) {
  ReplayBuffer buffer(10, kObs, kAction);
  fill(buffer, 25);
  const ObsNormalizer normalizer(2);
  ReplaySampler sampler(buffer, normalizer, transitions(), Rng(1));
  BatchMemory batch(1000);
  sampler.sample(batch.view());
  std::vector<int> seen(25);
  for (int64_t i = 0; i < 1000; ++i) {
    const auto row = static_cast<int64_t>(batch.actions[i]);
    ++seen[row];
    EXPECT_EQ(batch.rewards[i], static_cast<float>(10 * row));
    EXPECT_EQ(batch.obs[2 * i], static_cast<float>(row));
    EXPECT_EQ(batch.next_obs[2 * i + 1], static_cast<float>(-row - 1));
  }
  for (int64_t row = 0; row < 25; ++row) {
    if (row < 15) {
      EXPECT_EQ(seen[row], 0);
    } else {
      EXPECT_NEAR(seen[row], 100, 45);
    }
  }
}

// Row 2 is a gap: its step only reset the environment, so it is not a transition, and the next
// episode begins at row 3. With capacity 6, row 8 overwrites row 2.
TEST(ReplayBuffer, GapsAreNeitherDrawnNorSpanned) {
  ReplayBuffer buffer(6, kObs, kAction);
  const float nothing[2] = {-1, -1};
  fill(buffer, 2);
  buffer.add_gap(nothing, nothing);
  EXPECT_EQ(buffer.gaps(), 1);
  fill(buffer, 3);
  EXPECT_EQ(buffer.following(0), 1);
  EXPECT_EQ(buffer.following(1), -1);
  EXPECT_EQ(buffer.following(3), 4);
  const ObsNormalizer normalizer(2);
  ReplaySampler sampler(buffer, normalizer, transitions(3), Rng(1));
  BatchMemory batch(200);
  sampler.sample(batch.view());
  std::vector<int> seen(6);
  for (int64_t i = 0; i < 200; ++i) ++seen.at(static_cast<size_t>(batch.actions[i]));
  EXPECT_EQ(seen[2], 0);
  for (const size_t row : {0, 1, 3, 4, 5}) EXPECT_GT(seen[row], 15);
  buffer.gather(0, normalizer, transitions(3), batch.view(), 0);
  EXPECT_EQ(batch.rewards[0], 0 + 0.5f * 10);  // two steps, then the gap
  EXPECT_EQ(batch.discount[0], 0.25f);

  ReplayBuffer again(6, kObs, kAction);
  again.restore(0, buffer.encode(0, 6));
  EXPECT_EQ(again.gaps(), 1);
  fill(again, 2);
  EXPECT_EQ(again.gaps(), 1);
  fill(again, 1);
  EXPECT_EQ(again.gaps(), 0);

  ReplayBuffer empty(6, kObs, kAction);
  empty.add_gap(nothing, nothing);
  EXPECT_FALSE(ReplaySampler(empty, normalizer, transitions(), Rng(1)).ready());
}

// The reward of row n is 10 n, and gamma is 0.5. Stream 0 has the rows 0 2 4 | 6 8, where | ends an
// episode, and row 4 terminates. Stream 1 has the rows 1 3 5 7 | 9, and row 7 is truncated.
TEST(ReplayBuffer, SpansSeveralStepsOfOneEnvironment) {
  ReplayBuffer buffer(100, kObs, kAction, /*streams=*/2);
  fill(buffer, 10, {4, 7});
  const ObsNormalizer normalizer(2);
  BatchMemory batch(1);
  const auto gather = [&](int64_t row) {
    buffer.gather(row, normalizer, transitions(3), batch.view_with_next_actions(), 0);
  };
  gather(0);
  EXPECT_EQ(batch.rewards[0], 0 + 0.5f * 20 + 0.25f * 40);
  EXPECT_EQ(batch.discount[0], 0);
  EXPECT_EQ(batch.next_obs[0], 5);
  EXPECT_EQ(batch.actions[0], 0);
  gather(1);
  EXPECT_EQ(batch.rewards[0], 10 + 0.5f * 30 + 0.25f * 50);
  EXPECT_EQ(batch.discount[0], 0.125f);
  EXPECT_EQ(batch.next_obs[0], 6);
  EXPECT_EQ(batch.next_action_valid[0], 1);
  EXPECT_EQ(batch.next_actions[0], 7);
  gather(5);  // two steps are left before the truncation
  EXPECT_EQ(batch.rewards[0], 50 + 0.5f * 70);
  EXPECT_EQ(batch.discount[0], 0.25f);
  EXPECT_EQ(batch.terminated[0], 0);
  EXPECT_EQ(batch.next_obs[0], 8);
  gather(6);  // the episode has two rows so far
  EXPECT_EQ(batch.rewards[0], 60 + 0.5f * 80);
  EXPECT_EQ(batch.discount[0], 0.25f);
  EXPECT_EQ(batch.next_obs[0], 9);
  EXPECT_EQ(batch.next_action_valid[0], 0);
}

TEST(ReplayBuffer, KeepsDiscreteActionsAsIntegers) {
  ReplayBuffer buffer(4, kObs, Space::discrete(3));
  const float obs[2] = {1, 2};
  for (const int64_t choice : {2, 0, 1}) buffer.add(obs, &choice, 1, obs, false, false);
  const ObsNormalizer normalizer(2);
  BatchMemory batch(3);
  std::vector<int64_t> choices(3);
  auto view = batch.view();
  view.action = reinterpret_cast<unsigned char*>(choices.data());
  view.action_bytes = sizeof(int64_t);
  for (int64_t row = 0; row < 3; ++row) buffer.gather(row, normalizer, transitions(), view, row);
  EXPECT_EQ(choices, (std::vector<int64_t>{2, 0, 1}));
}

// A frame of 2 x 2 pixels. Every pixel is the number of the frame.
std::vector<unsigned char> frame(int number) {
  return std::vector<unsigned char>(4, static_cast<unsigned char>(number));
}

void fill_frames(ReplayBuffer& buffer, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    const auto n = static_cast<int>(buffer.total());
    const float action = 0;
    // There are two streams. Stream 1 consists of the odd rows, and its episodes end at rows 5, 11,
    // 17, ... Stream 0 is one episode.
    buffer.add(frame(n).data(), &action, static_cast<float>(n), frame(n + 2).data(), n % 6 == 5,
               false);
  }
}

TEST(ReplayBuffer, StoresEachFrameOnce) {
  const Space image = Space::image(1, 2, 2);
  ReplayBuffer buffer(8, image, kAction, /*streams=*/2);
  fill_frames(buffer, 20);
  const ObsNormalizer normalizer(image);
  std::vector<unsigned char> obs(4), next_obs(4);
  BatchView view;
  view.rows = 1;
  view.obs_bytes = 4;
  view.obs = obs.data();
  view.next_obs = next_obs.data();
  for (int64_t row = 12; row < 20; ++row) {
    buffer.gather(row, normalizer, transitions(), view, 0);
    EXPECT_EQ(obs, frame(static_cast<int>(row)));
    EXPECT_EQ(next_obs, frame(static_cast<int>(row) + 2));
  }
  // Eight rows need eight frames for their successors, and one frame for the first observation of
  // each remaining part of an episode. Rows 12 to 19 belong to three such parts. The last frame of
  // the episode that ended at row 11 is also stored, because it is newer than the frame of row 12.
  EXPECT_LE(buffer.frames(), 8 + 4);

  ReplayBuffer again(8, image, kAction, /*streams=*/2);
  again.restore(12, buffer.encode(12, 5));
  again.restore(17, buffer.encode(17, 3));
  EXPECT_EQ(again.encode(12, 8), buffer.encode(12, 8));
  fill_frames(again, 6);
  fill_frames(buffer, 6);
  EXPECT_EQ(again.encode(18, 8), buffer.encode(18, 8));
  EXPECT_THROW(again.restore(again.total(), std::string(3, '\1')), Error);
}

// Adds a row whose observation consists of two frames of 2 x 2 pixels. The first observation of an
// episode contains its first frame twice.
void add_stack(ReplayBuffer& buffer, int older, int newer, int next, bool ends) {
  auto obs = frame(older), next_obs = frame(newer);
  const auto after = frame(newer), then = frame(next);
  obs.insert(obs.end(), after.begin(), after.end());
  next_obs.insert(next_obs.end(), then.begin(), then.end());
  const float action = 0;
  buffer.add(obs.data(), &action, 0, next_obs.data(), ends, false);
}

// Adds episodes of three rows, which observe the frames 0 0 1 2 3 | 4 4 5 6 7 | ...
void fill_stacks(ReplayBuffer& buffer, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    const auto n = static_cast<int>(buffer.total());
    const int first = n / 3 * 4, newer = first + n % 3;
    add_stack(buffer, n % 3 == 0 ? first : newer - 1, newer, newer + 1, n % 3 == 2);
  }
}

std::vector<unsigned char> gathered(const ReplayBuffer& buffer, int64_t row) {
  std::vector<unsigned char> obs(8), next_obs(8);
  BatchView view;
  view.rows = 1;
  view.obs_bytes = 8;
  view.obs = obs.data();
  view.next_obs = next_obs.data();
  buffer.gather(row, ObsNormalizer(buffer.obs_space()), transitions(), view, 0);
  return {obs[0], obs[4], next_obs[0], next_obs[4]};
}

TEST(ReplayBuffer, StoresTheFramesOfAStackOnce) {
  const Space stack = Space::image(2, 2, 2, /*frames=*/2);
  ReplayBuffer buffer(6, stack, kAction);
  fill_stacks(buffer, 6);
  EXPECT_EQ(buffer.frames(), 8);
  EXPECT_EQ(gathered(buffer, 0), (std::vector<unsigned char>{0, 0, 0, 1}));
  EXPECT_EQ(gathered(buffer, 1), (std::vector<unsigned char>{0, 1, 1, 2}));
  EXPECT_EQ(gathered(buffer, 2), (std::vector<unsigned char>{1, 2, 2, 3}));
  EXPECT_EQ(gathered(buffer, 3), (std::vector<unsigned char>{4, 4, 4, 5}));
  fill_stacks(buffer, 2);
  EXPECT_EQ(gathered(buffer, 2), (std::vector<unsigned char>{1, 2, 2, 3}));
  EXPECT_EQ(buffer.frames(), 10);  // frame 0 was removed; frames 8, 9 and 10 were added

  ReplayBuffer again(6, stack, kAction);
  const auto bytes = buffer.encode(2, 6);
  again.restore(2, bytes);
  EXPECT_EQ(again.frames(), buffer.frames());
  EXPECT_EQ(again.encode(2, 6), bytes);
  // Each frame takes 4 bytes. Row 2 stores three frames, rows 3 to 5 together store four, and rows
  // 6 and 7 together store three. Each row adds 2 marks of one byte and 12 other bytes. In `bytes`,
  // rows 2, 3 and 6 start an episode, so each of them adds another mark for each of its 2 frames.
  EXPECT_EQ(bytes.size(), 10 * 4 + 6 * (2 + 12) + 3 * 2);
  fill_stacks(again, 3);
  fill_stacks(buffer, 3);
  EXPECT_EQ(again.encode(5, 6), buffer.encode(5, 6));
  for (const auto& damaged : {bytes.substr(0, bytes.size() - 1), std::string(1, '\0') + bytes}) {
    ReplayBuffer other(6, stack, kAction);
    EXPECT_THROW(other.restore(2, damaged), Error);
  }
}

// An environment may declare stacked frames although its next observation is not the previous one
// shifted by one frame. The frames are then stored unchanged.
TEST(ReplayBuffer, FramesThatDoNotMoveOnAreKept) {
  ReplayBuffer buffer(6, Space::image(2, 2, 2, 2), kAction);
  const auto pair = [](int first, int second) {
    auto obs = frame(first);
    const auto more = frame(second);
    obs.insert(obs.end(), more.begin(), more.end());
    return obs;
  };
  const float action = 0;
  buffer.add(pair(1, 2).data(), &action, 0, pair(7, 2).data(), false, true);
  EXPECT_EQ(gathered(buffer, 0), (std::vector<unsigned char>{1, 2, 7, 2}));
  EXPECT_EQ(buffer.frames(), 4);
}

TEST(ReplaySampler, RefusesReturnsThatTheBufferDoesNotKeep) {
  ReplayBuffer buffer(4, kObs, kAction);
  const ObsNormalizer normalizer(2);
  EXPECT_THROW(ReplaySampler(buffer, normalizer, with_columns({BatchColumn::return_to_go}), Rng(1)),
               Error);
}

// Creates an empty buffer that computes returns to go. fill() gives row n the reward 10 n.
ReplayBuffer with_returns(int64_t capacity = 100) {
  return ReplayBuffer(capacity, kObs, kAction, /*streams=*/2, ReturnRule{.gamma = 0.5});
}

TEST(ReplayBuffer, RowsOfFinishedEpisodesHaveReturns) {
  auto buffer = with_returns();
  fill(buffer, 10, {4, 7});
  const std::pair<int64_t, float> expected[] = {{4, 40}, {2, 40},    {0, 20},    {7, 70},
                                                {5, 85}, {3, 72.5f}, {1, 46.25f}};
  for (const auto& [row, value] : expected) EXPECT_EQ(buffer.return_to_go(row), value) << row;
}

TEST(ReplayBuffer, ReturnsComeBackWithTheirRows) {
  auto buffer = with_returns(8), again = with_returns(8);
  fill(buffer, 14, {4, 7, 10, 13});
  again.restore(6, buffer.encode(6, 8));
  for (int64_t row = 6; row < 14; ++row) {
    ASSERT_EQ(again.episode_end(row), buffer.episode_end(row));
    if (row == 12) continue;  // the episode has not ended
    EXPECT_EQ(again.return_to_go(row), buffer.return_to_go(row)) << row;
  }
}

// Returns the returns to go of one episode with these rewards. Checks that a restored buffer has
// the same returns to go.
std::vector<float> returns_of(const std::vector<float>& rewards, int64_t capacity = 100) {
  ReplayBuffer buffer(capacity, kObs, kAction, 1, ReturnRule{.gamma = 0.99, .failure_reward = -5});
  const float obs[2] = {0, 0}, action = 0;
  for (size_t i = 0; i < rewards.size(); ++i) {
    buffer.add(obs, &action, rewards[i], obs, false, i + 1 == rewards.size());
  }
  ReplayBuffer again(capacity, kObs, kAction, 1, ReturnRule{.gamma = 0.99, .failure_reward = -5});
  again.restore(buffer.first(), buffer.encode(buffer.first(), buffer.rows()));
  std::vector<float> returns;
  for (int64_t row = buffer.first(); row < buffer.total(); ++row) {
    returns.push_back(buffer.return_to_go(row));
    EXPECT_EQ(again.return_to_go(row), returns.back()) << row;
  }
  return returns;
}

TEST(ReplayBuffer, AFailedEpisodeFailsForEver) {
  const auto reached = returns_of({-5, -5, 5});
  EXPECT_FLOAT_EQ(reached[0], -5.0495f);
  EXPECT_FLOAT_EQ(reached[1], -0.05f);
  EXPECT_FLOAT_EQ(reached[2], 5);
  for (const float value : returns_of({-5, -5, -5})) EXPECT_NEAR(value, -500, 1e-3);
}

// The first step succeeded, but only the other rows are left when the buffer is restored. The
// episode must not count as failed.
TEST(ReplayBuffer, WhetherAnEpisodeFailedIsKept) {
  ReplayBuffer buffer(3, kObs, kAction, 1, ReturnRule{.gamma = 0.5, .failure_reward = -1});
  ReplayBuffer again = buffer;
  const float obs[2] = {0, 0}, action = 0;
  const float rewards[] = {0, -1, -1, 7};
  for (int i = 0; i < 4; ++i) buffer.add(obs, &action, rewards[i], obs, false, i >= 2);
  again.restore(1, buffer.encode(1, 3));
  EXPECT_EQ(buffer.return_to_go(1), -1.5f);
  EXPECT_EQ(again.return_to_go(1), -1.5f);
}

TEST(ReplaySampler, DrawsFinishedEpisodesWhereReturnsAreWanted) {
  auto buffer = with_returns();
  const ObsNormalizer normalizer(2);
  ReplaySampler sampler(buffer, normalizer, with_columns({BatchColumn::return_to_go}), Rng(1));
  fill(buffer, 4);
  EXPECT_FALSE(sampler.ready());
  fill(buffer, 6, {4, 7});
  ASSERT_TRUE(sampler.ready());
  BatchMemory batch(200);
  std::vector<float> returns(200);
  auto view = batch.view();
  view.return_to_go = returns.data();
  sampler.sample(view);
  std::set<int64_t> seen;
  for (size_t i = 0; i < 200; ++i) {
    const auto row = static_cast<int64_t>(batch.obs[2 * i]);
    seen.insert(row);
    EXPECT_GE(buffer.episode_end(row), 0);
    EXPECT_EQ(returns[i], buffer.return_to_go(row));
  }
  EXPECT_EQ(seen.size(), 7);
}

// Row 0 and row 3 are gaps, the episode of the rows 1 and 2 has ended, and the other rows belong to
// an unfinished episode. If a gap is drawn, its replacement must not be from the unfinished
// episode.
TEST(ReplaySampler, DrawsNeitherGapsNorUnfinishedEpisodesForReturns) {
  ReplayBuffer buffer(100, kObs, kAction, /*streams=*/1, ReturnRule{.gamma = 0.5});
  const ObsNormalizer normalizer(2);
  ReplaySampler sampler(buffer, normalizer, with_columns({BatchColumn::return_to_go}), Rng(1));
  const float nothing[2] = {-1, -1};
  buffer.add_gap(nothing, nothing);
  fill(buffer, 1);
  EXPECT_FALSE(sampler.ready());
  fill(buffer, 1, {2});
  buffer.add_gap(nothing, nothing);
  fill(buffer, 16);
  ASSERT_TRUE(sampler.ready());
  BatchMemory batch(200);
  std::vector<float> returns(200);
  auto view = batch.view();
  view.return_to_go = returns.data();
  sampler.sample(view);
  for (size_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(batch.obs[2 * i] == 1 || batch.obs[2 * i] == 2) << batch.obs[2 * i];
    EXPECT_EQ(returns[i], 20);  // 10 + 0.5 * 20 in row 1
  }
}

TEST(MixtureSampler, HoldsTheRatioInEveryMinibatch) {
  EXPECT_EQ(MixtureSampler::first_rows(0.5, 256), 128);
  EXPECT_EQ(MixtureSampler::first_rows(0.0, 256), 0);
  EXPECT_EQ(MixtureSampler::first_rows(1.0, 256), 256);
  EXPECT_EQ(MixtureSampler::first_rows(0.001, 256), 1);
  EXPECT_EQ(MixtureSampler::first_rows(0.999, 256), 255);
  EXPECT_EQ(MixtureSampler::first_rows(0.3, 10), 3);
  ReplayBuffer small(4, kObs, kAction), large(100, kObs, kAction);
  fill(small, 4);
  fill(large, 54);  // rows 4 to 53 are only in this buffer
  const ObsNormalizer normalizer(2);
  ReplaySampler a(small, normalizer, transitions(), Rng(1)),
      b(large, normalizer, transitions(), Rng(2));
  MixtureSampler mixture(a, b, 0.3, Rng(3));
  BatchMemory batch(10);
  for (int i = 0; i < 20; ++i) {
    mixture.sample(batch.view());
    for (int64_t row = 0; row < 3; ++row) EXPECT_LT(batch.actions[row], 4.0f);
    for (int64_t row = 0; row < 10; ++row) EXPECT_EQ(batch.rewards[row], 10 * batch.actions[row]);
  }
  ReplayBuffer empty(4, kObs, kAction);
  ReplaySampler none(empty, normalizer, transitions(), Rng(3));
  EXPECT_FALSE(MixtureSampler(a, none, 0.5, Rng(3)).ready());
  EXPECT_TRUE(MixtureSampler(a, none, 1.0, Rng(3)).ready());
  MixtureSampler(a, none, 1.0, Rng(3)).sample(batch.view());  // does not draw from the empty buffer
  for (int64_t row = 0; row < 10; ++row) EXPECT_LT(batch.actions[row], 4.0f);
}

// With 100 and 300 rows, a quarter of the draws come from the first buffer on average.
TEST(MixtureSampler, WithoutARatioAllRowsAreEquallyLikely) {
  ReplayBuffer small(100, kObs, kAction), large(300, kObs, kAction);
  fill(small, 100);
  fill(large, 1300);  // only the rows from 1000 on are still stored
  const ObsNormalizer normalizer(2);
  ReplaySampler a(small, normalizer, transitions(), Rng(1)),
      b(large, normalizer, transitions(), Rng(2));
  MixtureSampler mixture(a, b, std::nullopt, Rng(3));
  EXPECT_EQ(mixture.rows(), 400);
  EXPECT_EQ(mixture.first_rows(40), 40);  // no minibatch has been drawn yet
  BatchMemory batch(40);
  int64_t first = 0, changes = 0, before = -1;
  for (int i = 0; i < 500; ++i) {
    mixture.sample(batch.view());
    const int64_t rows = mixture.first_rows(40);
    for (int64_t row = 0; row < 40; ++row) EXPECT_EQ(batch.actions[row] < 1000, row < rows);
    first += rows;
    changes += rows != before ? 1 : 0;
    before = rows;
  }
  EXPECT_NEAR(static_cast<double>(first), 5000, 5 * std::sqrt(20000 * 0.25 * 0.75));
  EXPECT_GT(changes, 300);

  // No rows are drawn from the empty second buffer. The saved state restores the sequence of draws.
  ReplayBuffer empty(4, kObs, kAction);
  ReplaySampler none(empty, normalizer, transitions(), Rng(4));
  MixtureSampler alone(a, none, std::nullopt, Rng(3));
  EXPECT_TRUE(alone.ready());
  alone.sample(batch.view());
  EXPECT_EQ(alone.first_rows(40), 40);
  MemoryState state;
  state.save(mixture);
  MixtureSampler again(a, b, std::nullopt, Rng(9));
  state.restore(again);
  EXPECT_EQ(again.first_rows(40), mixture.first_rows(40));
  mixture.sample(batch.view());
  again.sample(batch.view());
  EXPECT_EQ(again.first_rows(40), mixture.first_rows(40));
}

}  // namespace
}  // namespace rl_training
