/// Bytes of tensors by call, and by stage in a flow.
#include "pipeline/graph/call_memory.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/pipeline/graph/flow_fixture.hpp"

namespace seam::host::call_memory_test {

using tensor_memory::allocated;
using tensor_memory::freed;
using tensor_memory::Owner;

TEST(CallMemoryMeter, CountsFromTheStartOfEachCall) {
  CallMemoryMeter meter;
  const Owner owner = allocated(40);
  const std::int64_t others = tensor_memory::take().all.now;
  meter.begin();
  (void)allocated(300);
  freed(200, owner);
  (void)allocated(50);
  CallMemory call = meter.take_call();
  EXPECT_EQ(call, (CallMemory{300, 150, static_cast<std::uint64_t>(others) + 300}));
  freed(150, owner);  // of the call before
  (void)allocated(100);
  call = meter.take_call();
  EXPECT_EQ(call.peak, 0U) << "it never had more than at its start";
  EXPECT_EQ(call.kept, 0U);
  freed(140, owner);
}

TEST(CallMemory, OfAStageIsThatOfItsLargestCall) {
  CallMemory stage{100, 20, 900};
  stage.add({50, 30, 800});
  EXPECT_EQ(stage, (CallMemory{100, 30, 900}));
}

class CallMemoryTest : public FlowTest, protected CallListener {
 protected:
  CallMemoryTest() {
    options_.calls = this;
    add<Count>("count", 3);
    add<ParallelCall>("decode", [](Packet&, Context&) { freed(1000, allocated(1000)); });
    add<Call<Transform>>(
        "model",
        [](Packet& packet, Context&) {
          const std::int64_t times = packet.get(number) + 1;
          // LibTorch's workers are started by the stage's call.
          std::thread([&] { (void)allocated(100 * times); }).join();
          freed(20 * times, Owner::compute);
        },
        true);
    const auto free_all = [](const Packet& packet) {
      const Owner owner = allocated(7);
      freed(7 + 80 * (packet.get(number) + 1), owner);
    };
    add<CallSink>("adam", free_all, true);
    add<Keep>("keep", kept_);
  }
  void called(const StageCall& call) override {
    if (call.stage == "model") traced_model_.add(call.memory);
  }
  static CallMemory of(const FlowResult& result, const std::string& stage) {
    for (const StageCount& count : result.stages) {
      if (count.stage == stage) return count.memory;
    }
    return {};
  }

  CallMemory traced_model_;
};

TEST_F(CallMemoryTest, IsMeasuredByStageOnTheComputeThread) {
  const FlowResult result = run("count -> decode -> model -> adam");
  EXPECT_EQ(of(result, "model").peak, 300U) << "of the third packet";
  EXPECT_EQ(of(result, "model").kept, 240U);
  EXPECT_EQ(of(result, "adam").peak, 7U);
  EXPECT_EQ(of(result, "adam").kept, 0U) << "it frees what the model allocated";
  EXPECT_GE(of(result, "adam").in_use, 247U) << "with the model's";
  EXPECT_EQ(of(result, "decode"), CallMemory());
  EXPECT_EQ(traced_model_.peak, 300U);
}

TEST_F(CallMemoryTest, OfOtherStagesIsNotTheModels) {
  add<ParallelCall>("decode", [](Packet&, Context&) {
    EXPECT_EQ(allocated(1'000'000), Owner::other) << "even while the model works";
  });
  const FlowResult result = run("count -> decode -> model -> adam");
  EXPECT_EQ(of(result, "model").peak, 300U);
  EXPECT_GE(of(result, "model").in_use, 1'000'300U) << "the process needs both";
  freed(3'000'000, Owner::other);
}

TEST_F(CallMemoryTest, IsMeasuredOnlyInFlowsThatTrainOnTheCpu) {
  EXPECT_EQ(of(run("count -> model -> keep"), "model"), CallMemory());
  freed(240 * 2, Owner::compute);
  options_.run.device = "cuda:0";
  EXPECT_EQ(of(run("count -> model -> adam"), "model"), CallMemory())
      << "of tensors on the GPU nothing is known";
}

}  // namespace seam::host::call_memory_test
