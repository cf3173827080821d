/// Distances of two embeddings in double, summed in their order: the same on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace seam::stages {

enum class VerificationDistance : std::uint8_t {
  euclidean,      ///< |a - b|
  cosine,         ///< 1 - cos(a, b)
  exp_manhattan,  ///< 1 - exp(-|a - b|₁)
};

/// Throws seam::Error, whose message follows an image's name ("a.jpg has NaN ..."), for values that
/// are not finite and, with cosine, for zeros, which have no direction.
void check_embedding(std::span<const float> values, VerificationDistance distance);

/// The value by which pairs are ranked: the distance, but |a - b|₁ for exp_manhattan, whose
/// exponential makes far pairs equal. For checked embeddings of the same length.
[[nodiscard]] double ranked_distance(std::span<const float> a, std::span<const float> b,
                                     VerificationDistance distance);

/// Converts a ranked distance to the one shown to users and used by margins, and back.
[[nodiscard]] double shown_distance(double ranked, VerificationDistance distance);
[[nodiscard]] double ranked_margin(double margin, VerificationDistance distance);

}  // namespace seam::stages
