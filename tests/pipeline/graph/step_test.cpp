#include "pipeline/graph/step.hpp"

#include <string>
#include <utility>

#include "tests/support/matchers.hpp"

namespace seam::host::step_test {

class StepTest : public ::testing::Test {
 protected:
  /// Records its name and the message's number, and passes the message on.
  Deliver stage(std::string name, std::vector<const Deliver*> behind = {}) {
    return [this, name = std::move(name), behind = std::move(behind)](const Message& message) {
      calls_.push_back(name + std::to_string(message.sequence));
      for (const Deliver* next : behind) queue_.put(*next, Message(message));
    };
  }
  static Message numbered(std::uint64_t sequence, std::size_t port = 0) {
    return {sequence, Message::Kind::gap, port, nullptr};
  }

  StepQueue queue_;
  std::vector<std::string> calls_;
};

TEST_F(StepTest, CarriesOneBranchToItsEndAndThenTheNext) {
  const Deliver adam = stage("adam");
  const Deliver loss = stage("loss", {&adam});
  const Deliver index = stage("index");
  StepLane lane(queue_);
  lane.add_port(stage("model", {&loss, &index}));
  lane.accept(numbered(0));
  lane.accept(numbered(1));
  EXPECT_THAT(calls_, ElementsAre("model0", "loss0", "adam0", "index0", "model1", "loss1", "adam1",
                                  "index1"));
}

TEST_F(StepTest, ANumberEntersWhenAllPortsHadTheOneBefore) {
  StepLane lane(queue_);
  lane.add_port(stage("a"));
  lane.add_port(stage("b"));
  lane.accept(numbered(1, 0));
  lane.accept(numbered(0, 1));
  EXPECT_THAT(calls_, ElementsAre());
  lane.accept(numbered(0, 0));
  EXPECT_THAT(calls_, ElementsAre("a0", "b0", "a1"));
  lane.accept(numbered(2, 0));
  lane.accept(numbered(1, 1));
  EXPECT_THAT(calls_, ElementsAre("a0", "b0", "a1", "b1", "a2"));
}

}  // namespace seam::host::step_test
