#include "pipeline/tensorboard/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>

namespace seam::host::tensorboard {
namespace {

constexpr std::size_t most_buckets = 64;

/// The elements, which are stored as T, as numbers.
template <class T, class Number>
std::vector<double> converted(const Archive::Entry& entry, const Number& number) {
  std::vector<double> values(entry.bytes.size() / sizeof(T));
  for (std::size_t at = 0; at < values.size(); ++at) {
    T value;
    std::memcpy(&value, entry.bytes.data() + at * sizeof(T), sizeof(T));
    values[at] = number(value);
  }
  return values;
}

/// bfloat16 is the upper half of a float.
float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

std::vector<double> values_of(const Archive::Entry& entry) {
  if (entry.type == "f64") return converted<double>(entry, std::identity{});
  if (entry.type == "f32") return converted<float>(entry, std::identity{});
  return converted<std::uint16_t>(entry, entry.type == "f16" ? from_half : from_bfloat16);
}

/// The bucket of a value. Computed with halves, because the range of two doubles may overflow.
std::size_t bucket_of(double value, double least, double greatest, std::size_t buckets) {
  const double share = (value / 2 - least / 2) / (greatest / 2 - least / 2);
  return std::min(static_cast<std::size_t>(share * static_cast<double>(buckets)), buckets - 1);
}

}  // namespace

bool has_histogram(std::string_view type) {
  return type == "f64" || type == "f32" || type == "f16" || type == "bf16";
}

float from_half(std::uint16_t bits) {
  // A float with these bits is 2^112 times smaller, because its exponent's bias is 127, not 15.
  const float size = std::bit_cast<float>((bits & 0x7FFFU) << 13U) * 0x1p112F;
  const std::uint32_t not_finite = size >= 0x1p16F ? 0x7F800000U : 0U;
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | not_finite | sign);
}

Histogram histogram_of(const Archive::Entry& entry) {
  std::vector<double> values = values_of(entry);
  Histogram histogram;
  histogram.not_finite = std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return histogram;
  const auto [least, greatest] = std::ranges::minmax(values);
  histogram.least = least;
  histogram.greatest = greatest;
  histogram.count = static_cast<double>(values.size());
  // Buckets narrower than the spacing of the numbers would have equal limits.
  const bool single = !(least / 2 + (greatest / 2 - least / 2) / most_buckets > least / 2);
  const std::size_t buckets = single ? 1 : most_buckets;
  histogram.buckets.assign(buckets, 0);
  for (std::size_t bucket = 1; bucket < buckets; ++bucket) {
    const double share = static_cast<double>(bucket) / static_cast<double>(buckets);
    histogram.limits.push_back(least * (1 - share) + greatest * share);
  }
  histogram.limits.push_back(greatest);
  for (const double value : values) {
    histogram.sum += value;
    histogram.sum_of_squares += value * value;
    histogram.buckets[single ? 0 : bucket_of(value, least, greatest, buckets)] += 1;
  }
  return histogram;
}

}  // namespace seam::host::tensorboard
