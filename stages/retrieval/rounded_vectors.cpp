#include "stages/retrieval/rounded_vectors.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stages/cpu/grain.hpp"
#include "stages/cpu/instruction_set.hpp"
#include "stages/retrieval/search_kernels.hpp"

namespace seam::stages {
namespace {

bool adds_up_in_float32() {
  if (!multiplies_bfloat16_pairs() || !at::globalContext().hasMKLDNN()) return false;
  const torch::NoGradGuard no_grad;
  const torch::Tensor ones =
      torch::ones({64, 1024}, torch::kBFloat16);  // in bfloat16: 256 + 1 = 256
  return torch::mm(ones, ones.t()).eq(1024).all().item<bool>();
}

}  // namespace

bool multiplies_bfloat16() {
  if (!at::globalContext().userEnabledMkldnn()) return false;  // can change at any time
  static const bool there = adds_up_in_float32();
  return there;
}

RoundedVectors round_to_bfloat16(const torch::Tensor& vectors) {
  const std::int64_t dimensions = vectors.size(1);
  RoundedVectors rounded{torch::empty_like(vectors, torch::kBFloat16),
                         std::vector<double>(static_cast<std::size_t>(vectors.size(0)))};
  at::parallel_for(0, vectors.size(0), grain(256), [&](std::int64_t first, std::int64_t last) {
    const torch::NoGradGuard no_grad;  // thread-local, so it is set in the working thread
    for (std::int64_t begin = first; begin < last; begin += 256) {
      const std::int64_t count = std::min<std::int64_t>(256, last - begin);
      const torch::Tensor exact = vectors.narrow(0, begin, count);
      const torch::Tensor part = rounded.vectors.narrow(0, begin, count);
      // Instructions for bfloat16 treat subnormal numbers as zero.
      part.copy_(torch::hardshrink(exact, std::numeric_limits<float>::min()));
      const torch::Tensor moved = exact - part.to(torch::kFloat32);
      for (std::int64_t row = 0; row < count; ++row) {
        const float* difference = moved.data_ptr<float>() + row * dimensions;
        rounded.moves[begin + row] = std::sqrt(inner_product(difference, difference, dimensions));
      }
    }
  });
  return rounded;
}

}  // namespace seam::stages
