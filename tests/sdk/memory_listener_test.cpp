/// The memory of LibTorch's tensors, as a plugin reports it to the host.
#include "seam/memory_listener.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <memory>
#include <thread>

#include "seam/plugin.hpp"

namespace seam {
namespace memory_listener_test {

class Sum final : public MemoryListener {
 public:
  void allocated(std::int64_t bytes) override { bytes_ += bytes; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

constexpr std::int64_t floats = 1 << 18;
constexpr std::int64_t mebibyte = floats * 4;

TEST(MemoryListener, HearsOfTensorsWhileItWatches) {
  Sum sum;
  torch::Tensor kept;
  {
    const std::shared_ptr<void> watch = detail::watch_tensor_memory(sum);
    kept = torch::empty({floats});
    EXPECT_GE(sum.bytes(), mebibyte);
    const torch::Tensor twice = kept * 2;
    EXPECT_GE(sum.bytes(), 2 * mebibyte);
  }
  EXPECT_GE(sum.bytes(), mebibyte);
  EXPECT_LT(sum.bytes(), mebibyte * 3 / 2) << "the product was freed";
  const std::int64_t before = sum.bytes();
  const torch::Tensor later = torch::empty({floats});
  EXPECT_EQ(sum.bytes(), before) << "it no longer watches";
}

TEST(MemoryListener, HearsOfOneThread) {
  Sum sum;
  const std::shared_ptr<void> watch = detail::watch_tensor_memory(sum);
  std::jthread([] { (void)torch::empty({floats}); }).join();
  EXPECT_EQ(sum.bytes(), 0);
}

TEST(MemoryListener, HearsOfABackwardPass) {
  Sum sum;
  const torch::Tensor weights = torch::ones({floats}).set_requires_grad(true);
  const std::shared_ptr<void> watch = detail::watch_tensor_memory(sum);
  (weights * weights).sum().backward();
  EXPECT_GE(sum.bytes(), mebibyte) << "the gradient stays";
  EXPECT_LT(sum.bytes(), 2 * mebibyte);
}

TEST(MemoryListener, ThereIsOneWatchAtATimePerThread) {
  Sum outer;
  Sum inner;
  const std::shared_ptr<void> first = detail::watch_tensor_memory(outer);
  {
    const std::shared_ptr<void> second = detail::watch_tensor_memory(inner);
    (void)torch::empty({floats});
  }
  EXPECT_EQ(outer.bytes(), 0) << "a stage counts once if stages are nested";
}

}  // namespace memory_listener_test
}  // namespace seam
