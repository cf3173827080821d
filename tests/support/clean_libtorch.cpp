// A listener that gives each case the same state of LibTorch: the seed, the number of threads, the
// gradient mode and the choice of algorithms. A stage sets the last three when it enters a thread,
// and a harness runs it on the thread of the test; the listener therefore restores them silently.
// A case that changes the default type of tensors fails.
#include <gtest/gtest.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <cstdlib>

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
#define SEAM_FILLS_TENSORS
#endif

namespace seam::test {
namespace {

class CleanLibTorch final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo& /*info*/) override {
    torch::manual_seed(1);
    threads_ = at::get_num_threads();
    gradients_ = at::GradMode::is_enabled();
    type_ = torch::get_default_dtype();
    const at::Context& context = at::globalContext();
    deterministic_ = context.deterministicAlgorithms();
    warn_only_ = context.deterministicAlgorithmsWarnOnly();
    tf32_cublas_ = context.allowTF32CuBLAS();
    tf32_cudnn_ = context.allowTF32CuDNN();
#ifdef SEAM_FILLS_TENSORS
    fill_ = context.deterministicFillUninitializedMemory();
#endif
  }

  void OnTestEnd(const ::testing::TestInfo& /*info*/) override {
    if (at::get_num_threads() != threads_) at::set_num_threads(threads_);
    at::GradMode::set_enabled(gradients_);
    at::Context& context = at::globalContext();
    context.setDeterministicAlgorithms(deterministic_, warn_only_);
    if (context.allowTF32CuBLAS() != tf32_cublas_) context.setAllowTF32CuBLAS(tf32_cublas_);
    context.setAllowTF32CuDNN(tf32_cudnn_);
#ifdef SEAM_FILLS_TENSORS
    context.setDeterministicFillUninitializedMemory(fill_);
#endif
    if (torch::get_default_dtype() == type_) return;
    ADD_FAILURE() << "the case changes LibTorch's default type and does not restore it";
    torch::set_default_dtype(type_);
  }

 private:
  int threads_ = 0;
  bool gradients_ = true;
  caffe2::TypeMeta type_;
  bool deterministic_ = false;
  bool warn_only_ = false;
  bool tf32_cublas_ = false;
  bool tf32_cudnn_ = false;
#ifdef SEAM_FILLS_TENSORS
  bool fill_ = false;
#endif
};

const bool registered = [] {
  ::setenv("MKL_CBWR", "AUTO,STRICT", 0);  // as the program does for its stages
  ::testing::UnitTest::GetInstance()->listeners().Append(new CleanLibTorch);
  return true;
}();

}  // namespace
}  // namespace seam::test
