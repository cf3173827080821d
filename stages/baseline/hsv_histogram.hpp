/// Stage `baseline.hsv_histogram`: the embedding is the fraction of an image's pixels in each range
/// of hue, saturation and value; nothing is trained.
///
///     images [N,3,H,W] ──► bytes ──► hue, saturation, value ──► histogram ──► root ──► embedding
#pragma once

#include <seam/tensor.hpp>

namespace seam::stages {

/// The number of ranges of each coordinate.
struct HsvBins {
  std::int64_t hues = 18;
  std::int64_t saturations = 4;
  std::int64_t values = 4;

  [[nodiscard]] std::int64_t count() const { return hues * saturations * values; }
};

/// The bin of an 8-bit colour, hue the slowest: (hue * saturations + saturation) * values + value.
/// Ranges are of equal width and computed in integers, so that a colour on a boundary falls into
/// the upper range on every machine. Greys have hue 0.
[[nodiscard]] std::int64_t hsv_bin(const std::array<std::uint8_t, 3>& rgb, const HsvBins& bins);

class HsvHistogram final : public Compute<Transform> {
 public:
  static constexpr std::string_view name = "baseline.hsv_histogram";

  void declare(Declaration& d) override;
  void process(Packet& packet, Context& context) override;

 private:
  enum class Scale : std::uint8_t { root, share };

  HsvBins bins_;
  Scale scale_ = Scale::root;
};

}  // namespace seam::stages
