/// Bytes of tensors by call, and by stage in a flow.
#include "pipeline/graph/tensor_memory.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "tests/pipeline/graph/flow_fixture.hpp"

namespace seam::host {
namespace tensor_memory_test {

TEST(TensorMemory, CountsFromTheBeginOfEachCall) {
  TensorMemory memory;
  memory.allocated(300);
  memory.allocated(-200);
  memory.allocated(50);
  EXPECT_EQ(memory.take_call(), (CallMemory{300, 150}));
  memory.allocated(-150);  // of the call before
  memory.allocated(100);
  EXPECT_EQ(memory.take_call(), CallMemory()) << "it never had more than at its begin";
  memory.allocated(10);
  EXPECT_EQ(memory.take_call(), (CallMemory{10, 10}));
}

TEST(TensorMemory, OfAStageIsThatOfItsLargestCall) {
  CallMemory stage{100, 20};
  stage.add({50, 30});
  EXPECT_EQ(stage, (CallMemory{100, 30}));
}

/// A library that allocates when the test says so.
class Library {
 public:
  static std::shared_ptr<void> watch(MemoryListener& listener) {
    ++watches;
    MemoryListener* const before = std::exchange(current, &listener);
    return {nullptr, [before](void*) { current = before; }};
  }
  static void allocate(std::int64_t bytes) {
    if (current != nullptr) current->allocated(bytes);
  }
  static inline std::atomic<int> watches = 0;

 private:
  static thread_local MemoryListener* current;
};
thread_local MemoryListener* Library::current = nullptr;

class Adam final : public Sink {
 public:
  void declare(Declaration& d) override {
    d.needs(number);
    d.trains();
  }
  void process(const Packet& /*packet*/, Context& /*context*/) override {
    Library::allocate(7);
    Library::allocate(-300);
  }
  [[nodiscard]] bool on_compute_thread() const override { return true; }
};

class TensorMemoryTest : public FlowTest {
 protected:
  TensorMemoryTest() {
    options_.watch_memory = &Library::watch;
    add<Count>("count", 3);
    add<ParallelCall>("decode", [](Packet&, Context&) { Library::allocate(1000); });
    add<Call<Transform>>(
        "model",
        [](Packet& packet, Context&) {
          Library::allocate(100 * (packet.get(number) + 1));
          Library::allocate(-20);
        },
        true);
    add<Adam>("adam");
    add<Keep>("keep", kept_);
  }
  static CallMemory of(const FlowResult& result, const std::string& stage) {
    for (const StageCount& count : result.stages) {
      if (count.stage == stage) return count.memory;
    }
    return {};
  }
};

TEST_F(TensorMemoryTest, IsMeasuredByStageOnTheComputeThread) {
  const FlowResult result = run("count -> decode -> model -> adam");
  EXPECT_EQ(of(result, "model"), (CallMemory{300, 280})) << "of the third packet";
  EXPECT_EQ(of(result, "adam"), (CallMemory{7, 0})) << "it frees what the model allocated";
  EXPECT_EQ(of(result, "decode"), CallMemory()) << "on other threads nothing is measured";
}

TEST_F(TensorMemoryTest, IsNotMeasuredInAFlowThatDoesNotTrain) {
  Library::watches = 0;
  EXPECT_EQ(of(run("count -> model -> keep"), "model"), CallMemory());
  EXPECT_EQ(Library::watches, 0)
      << "LibTorch would warn of tensors of other threads that are freed";
}

}  // namespace tensor_memory_test
}  // namespace seam::host
