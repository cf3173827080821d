/// Losses of pairs as plain functions of tensors: matching pairs should be near, others far.
///
///     Hadsell, Chopra, LeCun 2006       same d²                     + other max(0, m - d)²
///     O'Neill 2018, equation 4        ½ same D                    + ½ other max(0, m - D)
///     double margin, equation 5         same max(0, d - matching)²  + other max(0, non_matching -
///     d)²
///
/// each the mean over pairs, with D = d² of Euclidean distances.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace seam::stages {

enum class PairedDistance : std::uint8_t {
  euclidean,      ///< |x - y + ε|, of any length
  exp_manhattan,  ///< 1 - exp(-|x - y|₁), from 0 to 1
};

enum class ContrastiveForm : std::uint8_t {
  hadsell,   ///< squared hinge
  equation4  ///< of O'Neill's paper: halves, squared distance, hinge that is not squared
};

/// Added to each difference, as PyTorch's pairwise_distance does: the slope at equal rows is
/// finite.
inline constexpr double pair_epsilon = 1e-6;

/// Distances [P] of rows [P,E].
[[nodiscard]] torch::Tensor pair_distances(const torch::Tensor& first, const torch::Tensor& second,
                                           PairedDistance distance, double epsilon = pair_epsilon);

struct ContrastiveSettings {
  ContrastiveForm form = ContrastiveForm::hadsell;
  PairedDistance distance = PairedDistance::euclidean;
  double margin = 0.4;
};

/// The loss of each pair [P]; `same` is 1 or 0.
[[nodiscard]] torch::Tensor contrastive_losses(const torch::Tensor& distances,
                                               const torch::Tensor& same,
                                               const ContrastiveSettings& settings);

/// The loss of each pair [P].
[[nodiscard]] torch::Tensor double_margin_losses(const torch::Tensor& distances,
                                                 const torch::Tensor& same, double matching,
                                                 double non_matching);

}  // namespace seam::stages
