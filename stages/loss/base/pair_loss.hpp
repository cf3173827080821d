/// Base class of pair losses: the distances of rows 2k and 2k+1, and common metrics.
///
///     embedding, same, (groups) ──► distances [P] ──► loss of each pair ──► mean
#pragma once

#include <seam/loss.hpp>

namespace seam::stages {

enum class PairedDistance : std::uint8_t {
  euclidean,      ///< |x - y + ε|, of any length
  exp_manhattan,  ///< 1 - exp(-|x - y|₁), from 0 to 1
};

/// Added to each difference, as PyTorch's pairwise_distance does: the slope at equal rows is
/// finite.
inline constexpr double pair_epsilon = 1e-6;

/// Distances [P] of rows [P,E].
[[nodiscard]] Tensor pair_distances(const Tensor& first, const Tensor& second,
                                    PairedDistance distance);

class PairLoss : public Loss {
 protected:
  /// `distance`, the fields, and what every loss declares; call it last.
  void declare_pairs(Declaration& d);
  /// Throws seam::Error if no distance reaches the margin set by this parameter.
  void check_distance(const std::string& parameter, double margin) const;

  [[nodiscard]] PairedDistance distance() const { return distance_; }

 private:
  /// The loss of each pair [P]; `same` is 1 or 0 in the distances' type.
  [[nodiscard]] virtual Tensor losses(const Tensor& distances, const Tensor& same) = 0;

  Tensor compute(const Packet& packet, Context& context) final;

  PairedDistance distance_ = PairedDistance::euclidean;
};

}  // namespace seam::stages
