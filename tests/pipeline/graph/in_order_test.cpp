#include "pipeline/graph/in_order.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace seam::host::in_order_test {

struct Numbered {
  std::uint64_t sequence;
};

TEST(InOrder, HandsOutMessagesInSequenceWhateverTheOrderOfArrival) {
  InOrder<Numbered> in_order;
  std::vector<std::uint64_t> seen;
  const auto accept = [&](std::uint64_t sequence) {
    in_order.accept({sequence}, [&](Numbered message) { seen.push_back(message.sequence); });
  };
  accept(2);
  EXPECT_THAT(seen, ::testing::IsEmpty()) << "0 has not arrived yet";
  EXPECT_EQ(in_order.waiting(), 1U);
  for (const std::uint64_t sequence : {0U, 4U, 1U, 3U}) accept(sequence);
  EXPECT_THAT(seen, ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(in_order.waiting(), 0U);
}

}  // namespace seam::host::in_order_test
