#include "pipeline/graph/join.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace seam::host::join_test {

constexpr Field<std::int64_t> number{"number"};
constexpr Field<std::int64_t> other{"other"};

Message packet_with(std::int64_t value) {
  Message message{7, Message::Kind::packet, 0, std::make_shared<Envelope>()};
  message.envelope->packet.set(number, value);
  return message;
}

std::vector<Message> forked(Message message, std::size_t branches) {
  std::vector<Message> copies;
  spread(std::move(message), branches,
         [&](std::size_t /*at*/, Message copy) { copies.push_back(std::move(copy)); });
  return copies;
}

void change(Message& message, std::int64_t value) {
  message.envelope->packet[number] = value;
}

/// Passes the messages, of ports 0, 1, ..., to a join in every order; all results must be equal.
std::optional<Message> joined_in_any_order(std::vector<Message> messages) {
  for (std::size_t port = 0; port < messages.size(); ++port) messages[port].port = port;
  std::vector<std::size_t> order(messages.size());
  for (std::size_t at = 0; at < order.size(); ++at) order[at] = at;
  std::optional<Message> first;
  do {
    Join join(messages.size());
    std::optional<Message> joined;
    for (const std::size_t at : order) {
      EXPECT_FALSE(joined);
      joined = join.accept(messages[at]);
    }
    if (!joined) return std::nullopt;
    if (first && first->envelope) {
      EXPECT_EQ(joined->envelope->packet.get(number), first->envelope->packet.get(number));
    }
    first = std::move(joined);
  } while (std::ranges::next_permutation(order).found);
  return first;
}

std::int64_t number_of(const std::optional<Message>& message) {
  return message->envelope->packet.get(number);
}

TEST(Join, TakesTheFieldsOfAllBranches) {
  std::vector<Message> branches = forked(packet_with(1), 2);
  branches[1].envelope->packet.set(other, 5);
  const auto joined = joined_in_any_order(branches);
  EXPECT_EQ(number_of(joined), 1);
  EXPECT_EQ(joined->envelope->packet.get(other), 5);
  EXPECT_EQ(joined->envelope->fork, nullptr);
  EXPECT_EQ(joined->sequence, 7U);
}

TEST(Join, TakesWhatABranchChanged) {
  for (const std::size_t changed : {0U, 1U, 2U}) {
    std::vector<Message> branches = forked(packet_with(1), 3);
    change(branches[changed], 2);
    EXPECT_EQ(number_of(joined_in_any_order(branches)), 2);
  }
}

// count -> {b, add -> {d, e}} -> join
TEST(Join, TakesWhatWasChangedBeforeAnInnerFork) {
  std::vector<Message> outer = forked(packet_with(1), 2);
  change(outer[1], 2);
  std::vector<Message> inner = forked(outer[1], 2);
  EXPECT_EQ(number_of(joined_in_any_order({outer[0], inner[0], inner[1]})), 2);
  EXPECT_EQ(number_of(joined_in_any_order({inner[0], inner[1], outer[0]})), 2);
}

TEST(Join, TakesWhatWasChangedBehindAnInnerForkAsWell) {
  std::vector<Message> outer = forked(packet_with(1), 2);
  change(outer[1], 2);
  std::vector<Message> inner = forked(outer[1], 2);
  change(inner[0], 3);
  EXPECT_EQ(number_of(joined_in_any_order({outer[0], inner[0], inner[1]})), 3);
}

TEST(Join, LeavesTheOuterForkOpen) {
  std::vector<Message> outer = forked(packet_with(1), 2);
  const auto outer_fork = outer[1].envelope->fork;
  std::vector<Message> inner = forked(outer[1], 2);
  change(inner[1], 2);
  const auto joined = joined_in_any_order(inner);
  EXPECT_EQ(joined->envelope->fork, outer_fork);
  EXPECT_EQ(number_of(joined_in_any_order({outer[0], *joined})), 2);
}

// x -> {{a, b} -> d, c} -> join, where a changes one field, c another, and d perhaps the first
// again.
TEST(Join, TakesWhatWasChangedWhereOnlySomeBranchesMetBefore) {
  for (const bool changed_again : {false, true}) {
    Message begin = packet_with(1);
    begin.envelope->packet.set(other, 10);
    std::vector<Message> branches = forked(begin, 3);
    change(branches[0], 2);
    branches[2].envelope->packet[other] = 20;
    auto d = joined_in_any_order({branches[0], branches[1]});
    ASSERT_NE(d->envelope->fork, nullptr) << "c is still in flight";
    if (changed_again) change(*d, 3);
    for (const bool d_first : {true, false}) {
      const auto joined = joined_in_any_order(d_first ? std::vector{*d, branches[2]}
                                                      : std::vector{branches[2], *d});
      EXPECT_EQ(number_of(joined), changed_again ? 3 : 2);
      EXPECT_EQ(joined->envelope->packet.get(other), 20);
      EXPECT_EQ(joined->envelope->fork, nullptr);
    }
  }
}

TEST(Join, AGapOnOneInputMakesAGap) {
  std::vector<Message> branches = forked(packet_with(1), 2);
  branches[1] = Message{7, Message::Kind::gap, 0, nullptr};
  const auto joined = joined_in_any_order(branches);
  EXPECT_EQ(joined->kind, Message::Kind::gap);
  EXPECT_EQ(joined->envelope, nullptr);
}

// Data shared by branches counts once, and a branch's own data counts for this branch. Data that a
// branch drops is freed with the last copy.
TEST(Join, AccountsOnceForWhatBranchesShare) {
  constexpr Field<std::vector<std::uint8_t>> pixels{"pixels"};
  constexpr Field<std::vector<std::uint8_t>> mask{"mask"};
  constexpr std::int64_t size = 1'000'000;
  constexpr std::int64_t little = 2'000;  // the packets themselves
  Budget budget(10, 100, 1, [] {});
  const auto ticket = budget.admit(budget.add_maker(), 0);
  Message message = packet_with(1);
  Envelope& whole = *message.envelope;
  whole.packet.set(pixels, std::vector<std::uint8_t>(size));
  whole.share = Share(ticket, 0);
  whole.account();
  EXPECT_NEAR(static_cast<double>(ticket->bytes()), size, little);

  std::vector<Message> branches = forked(std::move(message), 3);
  EXPECT_NEAR(static_cast<double>(ticket->bytes()), size, little) << "three handles of one value";
  for (const std::size_t branch : {0U, 1U}) {
    branches[branch].envelope->packet.set(mask, std::vector<std::uint8_t>(size / 2));
    branches[branch].envelope->account();
  }
  EXPECT_NEAR(static_cast<double>(ticket->bytes()), 2 * size, little) << "two masks";
  branches[2].envelope->packet.erase(pixels);
  branches[2].envelope->account();
  EXPECT_NEAR(static_cast<double>(ticket->bytes()), 2 * size, little) << "kept for the join";

  Join join(3);
  std::optional<Message> joined;
  for (std::size_t port = 0; port < 3; ++port) {
    branches[port].port = port;
    joined = join.accept(std::move(branches[port]));
  }
  ASSERT_TRUE(joined);
  EXPECT_NEAR(static_cast<double>(ticket->bytes()), 1.5 * size, little) << "pixels and one mask";
  joined.reset();
  EXPECT_EQ(ticket->bytes(), 0);
}

TEST(Join, PutsNumbersTogether) {
  std::vector<Message> seventh = forked(packet_with(1), 2);
  std::vector<Message> eighth = forked(packet_with(2), 2);
  for (Message& message : eighth) message.sequence = 8;
  for (auto* branches : {&seventh, &eighth}) (*branches)[1].port = 1;
  Join join(2);
  EXPECT_FALSE(join.accept(seventh[0]));
  EXPECT_FALSE(join.accept(eighth[1]));
  EXPECT_EQ(number_of(join.accept(eighth[0])), 2);
  EXPECT_EQ(number_of(join.accept(seventh[1])), 1);
}

}  // namespace seam::host::join_test
