// Compiled with -O3, which vectorises the loops.
#include "stages/image/pixels_to_floats.hpp"

#include <stdexcept>

namespace seam::stages {
namespace {

struct Job {
  const std::uint8_t* bytes;
  float* out;
  std::size_t pixels;
  Normalisation normalisation;
  bool plain;  // no mean, no deviation
  ChannelOrder order;
};

[[gnu::always_inline]] inline void convert(const Job& job) {
  const std::uint8_t* __restrict bytes = job.bytes;
  float* __restrict out = job.out;
  if (job.order == ChannelOrder::last) {
    for (std::size_t i = 0; i < 3 * job.pixels; ++i) out[i] = static_cast<float>(bytes[i]) / 255.0F;
    if (job.plain) return;
    for (std::size_t i = 0; i < job.pixels; ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        out[3 * i + c] =
            (out[3 * i + c] - job.normalisation.mean[c]) / job.normalisation.deviation[c];
      }
    }
    return;
  }
  for (std::size_t c = 0; c < 3; ++c) {
    float* __restrict plane = out + c * job.pixels;
    const float mean = job.normalisation.mean[c];
    const float deviation = job.normalisation.deviation[c];
    for (std::size_t i = 0; i < job.pixels; ++i) {
      plane[i] = (static_cast<float>(bytes[3 * i + c]) / 255.0F - mean) / deviation;
    }
  }
}

void convert_baseline(const Job& job) {
  convert(job);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void convert_avx2(const Job& job) {
  convert(job);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] void convert_avx512(
    const Job& job) {
  convert(job);
}
#endif

}  // namespace

void pixels_to_floats(const Image& image, const Normalisation& normalisation, ChannelOrder order,
                      std::span<float> out, [[maybe_unused]] Vectors vectors) {
  if (image.channels() != 3 || out.size() != image.bytes()) {
    throw std::invalid_argument("an image of 3 channels and as many floats as bytes are needed");
  }
  const Job job{.bytes = image.data(),
                .out = out.data(),
                .pixels = image.bytes() / 3,
                .normalisation = normalisation,
                .plain = normalisation == Normalisation{},
                .order = order};
#if defined(__x86_64__)
  if (vectors == Vectors::avx512) return convert_avx512(job);
  if (vectors == Vectors::avx2) return convert_avx2(job);
#endif
  convert_baseline(job);
}

}  // namespace seam::stages
