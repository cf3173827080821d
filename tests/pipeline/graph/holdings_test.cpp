#include "pipeline/graph/holdings.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace seam::host::holdings_test {

constexpr Field<std::vector<std::uint8_t>> pixels{"pixels"};
constexpr Field<std::int64_t> label{"label"};

class HoldingsTest : public ::testing::Test {
 protected:
  /// A packet in flight of at least `bytes` bytes.
  Envelope envelope(std::size_t bytes) {
    Packet packet;
    packet.set(label, 7);
    packet.set(pixels, std::vector<std::uint8_t>(bytes));
    const auto size = static_cast<std::int64_t>(packet.bytes());
    return {Share(budget_.admit(maker_, size), size), nullptr, std::move(packet)};
  }
  Holdings::Verdict keep(std::size_t bytes) {
    Envelope arrives = envelope(bytes);
    holdings_.take(arrives);
    kept_.push_back(std::move(arrives.packet));
    return holdings_.settle();
  }
  Holdings::Verdict free(std::size_t bytes) {
    holdings_.take(envelope(bytes));
    return holdings_.settle();
  }

  Budget budget_{100, 100'000, 100, [] {}};
  PacketSizes& maker_ = budget_.add_maker();
  std::vector<Packet> kept_;
  Holdings holdings_{budget_, 100'000};
};

TEST_F(HoldingsTest, CountsWhatIsKeptUntilItIsTooMuch) {
  for (int at = 0; at < 3; ++at) EXPECT_EQ(keep(30'000), Holdings::Verdict::fits);
  EXPECT_GE(holdings_.bytes(), 90'000);
  EXPECT_EQ(budget_.bytes(), holdings_.bytes()) << "no ticket is left";
  EXPECT_EQ(keep(30'000), Holdings::Verdict::too_much);
}

TEST_F(HoldingsTest, ForgetsWhatIsFreed) {
  for (int at = 0; at < 100; ++at) EXPECT_EQ(free(30'000), Holdings::Verdict::fits);
  EXPECT_EQ(budget_.bytes(), 0);
  EXPECT_EQ(keep(60'000), Holdings::Verdict::fits);
  kept_.clear();
  EXPECT_EQ(keep(60'000), Holdings::Verdict::fits);
  EXPECT_LT(budget_.bytes(), 70'000);
}

TEST_F(HoldingsTest, LeavesWhatIsSentOnToItsNewTicket) {
  keep(30'000);
  keep(30'000);
  holdings_.give(kept_[0]);
  holdings_.give(kept_[0]);  // again, as of a sampler
  EXPECT_LT(holdings_.bytes(), 40'000);
  EXPECT_EQ(budget_.bytes(), holdings_.bytes());
  holdings_.give(Packet());
  holdings_.give(kept_[1]);
  EXPECT_EQ(budget_.bytes(), 0);
}

TEST_F(HoldingsTest, TakesOnePacketHoweverLarge) {
  EXPECT_EQ(keep(500'000), Holdings::Verdict::fits);
  EXPECT_EQ(keep(1), Holdings::Verdict::fits) << "too small to be counted";
  EXPECT_EQ(keep(5'000), Holdings::Verdict::too_much);
}

TEST_F(HoldingsTest, LeavesToTheSplitWhatBranchesShare) {
  Envelope whole = envelope(300'000);
  const Parting parting(whole, 2);
  std::vector<std::shared_ptr<Envelope>> branches{parting.branch(), parting.branch()};
  holdings_.take(*branches[0]);
  EXPECT_EQ(holdings_.bytes(), 0);
  branches[1]->packet.set(pixels, std::vector<std::uint8_t>(5'000));
  branches[1]->account();
  holdings_.take(*branches[1]);
  EXPECT_GE(holdings_.bytes(), 5'000);
  EXPECT_LT(holdings_.bytes(), 10'000);
}

TEST(Holdings, GiveTheRoomBackAtTheEnd) {
  Budget budget(100, 100'000, 100, [] {});
  {
    Holdings holdings(budget, 100'000);
    PacketSizes& maker = budget.add_maker();
    Envelope arrives{Share(budget.admit(maker, 50'000), 50'000), nullptr, Packet()};
    arrives.packet.set(pixels, std::vector<std::uint8_t>(50'000));
    holdings.take(arrives);
    EXPECT_EQ(holdings.settle(), Holdings::Verdict::fits);
  }
  EXPECT_EQ(budget.bytes(), 0);
}

}  // namespace seam::host::holdings_test
