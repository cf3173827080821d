/// The count of LibTorch's allocations, and tensors whose memory it counts.
#include "seam/counting_allocator.hpp"

#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <thread>

namespace seam::detail::counting_allocator_test {

constexpr std::int64_t floats = 1 << 18;
constexpr std::int64_t mebibyte = floats * 4;

class CountingAllocatorTest : public ::testing::Test {
 protected:
  CountingAllocatorTest() {
    count_tensor_memory();
    before_ = tensor_memory::take().compute.now;
  }
  [[nodiscard]] std::int64_t now() const { return tensor_memory::take().compute.now - before_; }
  [[nodiscard]] std::int64_t most() const { return tensor_memory::take().compute.most - before_; }

 private:
  std::int64_t before_ = 0;
};

TEST_F(CountingAllocatorTest, CountsEachTensorOnce) {
  count_tensor_memory();  // as a second plugin does
  torch::Tensor kept = torch::empty({floats});
  EXPECT_EQ(now(), mebibyte);
  const torch::Tensor same = kept.view({-1, 2}).detach();
  EXPECT_EQ(now(), mebibyte);
  kept = kept * 2;
  EXPECT_EQ(now(), 2 * mebibyte);
  kept.resize_({2 * floats});
  EXPECT_EQ(most(), 4 * mebibyte) << "it was copied";
  EXPECT_EQ(now(), 3 * mebibyte);
}

TEST_F(CountingAllocatorTest, AnotherThreadMayFree) {
  torch::Tensor tensor = torch::empty({floats});
  std::thread([&] { tensor = torch::Tensor(); }).join();
  EXPECT_EQ(now(), 0);
  std::thread([&] { tensor = torch::empty({floats}); }).join();
  EXPECT_EQ(now(), mebibyte);
}

TEST_F(CountingAllocatorTest, TensorsAreAsBefore) {
  const torch::Tensor empty = torch::empty({0, 3});
  EXPECT_EQ(empty.data_ptr(), nullptr);
  for (const std::int64_t size : {1, 15, 100, 5000}) {
    const torch::Tensor tensor = torch::arange(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % c10::gAlignment, 0U);
    EXPECT_EQ(tensor.clone().sum().item<std::int64_t>(), size * (size - 1) / 2);
  }
  // As oneDNN calls it.
  c10::Allocator& allocator = *c10::GetAllocator(c10::DeviceType::CPU);
  void* const block = allocator.raw_allocate(1000);
  EXPECT_EQ(now(), 1000);
  allocator.raw_deallocate(block);
  allocator.raw_deallocate(allocator.raw_allocate(0));
  EXPECT_EQ(now(), 0);
}

TEST_F(CountingAllocatorTest, ARequestThatFailsIsNotCounted) {
  c10::Allocator& allocator = *c10::GetAllocator(c10::DeviceType::CPU);
  EXPECT_THROW((void)allocator.allocate(std::size_t{1} << 60), c10::Error);
  EXPECT_THROW((void)allocator.allocate(std::numeric_limits<std::size_t>::max()), c10::Error);
  EXPECT_EQ(now(), 0);
}

template <class Method>
struct TotalOf;
/// The type of LibTorch's totals, which depends on its version.
template <class Total>
struct TotalOf<void (c10::MemoryReportingInfoBase::*)(void*, std::int64_t, Total, Total,
                                                      c10::Device)> {
  using type = Total;
};

/// What LibTorch's profiler is told.
class Reports final : public c10::MemoryReportingInfoBase {
 public:
  using Total = TotalOf<decltype(&c10::MemoryReportingInfoBase::reportMemoryUsage)>::type;
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
  void reportMemoryUsage(void* /*block*/, std::int64_t bytes, Total /*allocated*/,
                         Total /*reserved*/, c10::Device /*device*/) override {
    blocks += bytes > 0 ? 1 : -1;
    now += bytes;
  }
  std::int64_t blocks = 0;
  std::int64_t now = 0;
};

TEST_F(CountingAllocatorTest, AgreesWithLibTorchsProfiler) {
  const auto reports = std::make_shared<Reports>();
  const c10::DebugInfoGuard profiles(c10::DebugInfoKind::PROFILER_STATE, reports);
  const auto told = [&] {
    return reports->now - reports->blocks * static_cast<std::int64_t>(c10::gAlignment);
  };
  const at::AutoGradMode gradients(true);
  const torch::Tensor weight = torch::ones({8, 3, 5, 5}).requires_grad_();
  torch::Tensor loss = torch::conv2d(torch::ones({4, 3, 32, 32}), weight).relu().square().mean();
  EXPECT_GE(reports->blocks, 4);
  EXPECT_EQ(now(), told()) << "with what the backward pass needs";
  EXPECT_GT(now(), 4 * 8 * 28 * 28 * 4);
  loss.backward();
  loss = torch::Tensor();
  EXPECT_EQ(now(), told());
  EXPECT_LT(now(), 4 * 8 * 28 * 28 * 4) << "the graph is freed";
}

}  // namespace seam::detail::counting_allocator_test
