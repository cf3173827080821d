#include "stages/sampling/shuffle.hpp"

#include <gmock/gmock.h>

#include <seam/conformance.hpp>

#include "tests/stages/sampling/sampler_testing.hpp"

namespace seam::stages::shuffle_test {

using ::testing::UnorderedElementsAreArray;

using Indices = std::vector<std::int64_t>;

const auto conformance = testing::conformance<Shuffle>({});

/// The order in which `count` packets come out.
Indices shuffled(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  testing::Harness harness("shuffle", std::make_unique<Shuffle>());
  harness.seed(seed).epoch(epoch);
  for (const Packet& packet : test::images_of_items(static_cast<int>(count), 1)) {
    harness.push(packet);
  }
  EXPECT_TRUE(harness.outputs().empty()) << "before the whole epoch is known";
  harness.finish();
  Indices order;
  for (const Packet& packet : harness.outputs()) {
    EXPECT_EQ(packet.origin().line, packet.get(field::index) + 1);
    order.push_back(packet.get(field::index));
  }
  return order;
}

TEST(ShuffleStage, SendsEachPacketOnceInAnOrderOfSeedAndEpoch) {
  Indices all;
  for (std::int64_t i = 0; i < 50; ++i) all.push_back(i);
  const Indices order = shuffled(50, 1, 0);
  EXPECT_THAT(order, UnorderedElementsAreArray(all));
  EXPECT_NE(order, all);
  EXPECT_NE(shuffled(50, 1, 0), shuffled(50, 2, 0));
  EXPECT_NE(shuffled(50, 1, 0), shuffled(50, 1, 1));
}

TEST(ShuffleStage, DrawsAllOrdersEquallyOften) {
  std::map<Indices, int> times;
  for (std::int64_t epoch = 0; epoch < 3000; ++epoch) ++times[shuffled(3, 1, epoch)];
  ASSERT_EQ(times.size(), 6U);
  // Binomial: n = 3000, p = 1/6: 500 +- 20; five deviations.
  for (const auto& [order, count] : times) EXPECT_NEAR(count, 500, 102);
}

}  // namespace seam::stages::shuffle_test
