#include <gtest/gtest.h>

#include "rl_training/runtime/agreed_requests.h"
#include "tests/support/fake_group.h"

namespace rl_training::test_agreed_requests {
namespace {

TEST(AgreedRequests, AloneAreThoseOfTheProcess) {
  StopRequests own;
  AgreedRequests agreed(&own, nullptr);
  EXPECT_EQ(agreed.look(false, false).signal, 0);
  own.request_checkpoint();
  EXPECT_TRUE(agreed.look(false, false).checkpoint);
  EXPECT_FALSE(agreed.look(false, false).checkpoint);
  EXPECT_TRUE(agreed.look(true, false).end);
  own.request_stop(15);
  EXPECT_EQ(agreed.look(false, false).signal, 15);
  EXPECT_EQ(AgreedRequests(nullptr, nullptr).look(false, false).signal, 0);
}

TEST(AgreedRequests, TravelWithWhatIsExchangedAnyway) {
  StopRequests own;
  FakeGroup group(3);
  AgreedRequests agreed(&own, &group);
  std::vector<float> gradient(5);
  const std::vector<std::span<float>> parts = {gradient};

  own.request_stop(2);
  agreed.tell(false);
  group.average(parts);
  EXPECT_EQ(agreed.look(false, false).signal, 2);
  EXPECT_TRUE(group.exchanged.empty());  // the request was sent with the average

  agreed.tell(false);
  EXPECT_EQ(agreed.look(false, false).signal, 2);
  // In an iteration without another group operation, the request needs a message of its own.
  EXPECT_EQ(group.exchanged.size(), 1U);
}

TEST(AgreedRequests, OfAnyProcessCountForAllAndTheFirstSignalWins) {
  FakeGroup group(3);
  AgreedRequests agreed(nullptr, &group);
  group.others_say = {0, 15};
  agreed.tell(false);
  EXPECT_EQ(agreed.look(false, false).signal, 15);
  group.others_say = {2, 15};
  EXPECT_EQ(agreed.look(false, true).signal, 2);
}

// A request that arrives during an iteration takes effect in the next iteration. With `fresh`, it
// takes effect at once.
TEST(AgreedRequests, WhatNobodyWasToldYetDoesNotCount) {
  StopRequests own;
  FakeGroup group(2);
  AgreedRequests agreed(&own, &group);
  agreed.tell(false);
  own.request_stop(15);
  own.request_checkpoint();
  auto asked = agreed.look(/*end=*/true, /*fresh=*/false);
  EXPECT_EQ(asked.signal, 0);
  EXPECT_FALSE(asked.end);
  EXPECT_FALSE(asked.checkpoint);
  asked = agreed.look(/*end=*/true, /*fresh=*/true);
  EXPECT_EQ(asked.signal, 15);
  EXPECT_TRUE(asked.end);
  EXPECT_TRUE(asked.checkpoint);
  agreed.tell(false);
  EXPECT_FALSE(agreed.look(false, false).checkpoint);  // a request takes effect once
}

}  // namespace
}  // namespace rl_training::test_agreed_requests
