#include "pipeline/graph/in_order.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

namespace seam::host::in_order_test {

struct Numbered {
  std::uint64_t sequence;
};

TEST(InOrder, HandsOutMessagesInSequenceWhateverTheOrderOfArrival) {
  InOrder<Numbered> in_order;
  std::vector<std::uint64_t> seen;
  for (const std::uint64_t sequence : {2U, 0U, 4U, 1U, 3U}) {
    in_order.accept({sequence}, [&](Numbered message) { seen.push_back(message.sequence); });
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(in_order.waiting(), 0U);
}

TEST(InOrder, KeepsWhatComesTooEarly) {
  InOrder<Numbered> in_order;
  in_order.accept({1}, [](Numbered) { FAIL() << "0 has not arrived yet"; });
  EXPECT_EQ(in_order.waiting(), 1U);
}

}  // namespace seam::host::in_order_test
