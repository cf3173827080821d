/// Base class of pair losses: the distances of rows 2k and 2k+1, and common metrics.
///
///     embedding, same, (groups) ──► distances [P] ──► loss of each pair ──► mean
#pragma once

#include <seam/loss.hpp>

#include <optional>

#include "stages/loss/pair_losses.hpp"

namespace seam::stages {

class PairLoss : public Loss {
 protected:
  /// `distance` and `epsilon`, the fields, and what every loss declares; call it last.
  void declare_pairs(Declaration& d);
  /// Throws seam::Error if `epsilon` has no effect.
  void check_distance() const;

  [[nodiscard]] PairedDistance distance() const { return distance_; }

 private:
  [[nodiscard]] virtual Tensor losses(const Tensor& distances, const Tensor& same) = 0;

  Tensor compute(const Packet& packet, Context& context) final;

  PairedDistance distance_ = PairedDistance::euclidean;
  std::optional<double> epsilon_;
};

}  // namespace seam::stages
