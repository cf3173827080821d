/// The stage that paints over a part of some training images, a different part in every epoch.
///
///     image ──► [ image.erase ] ──► image of the same size, perhaps with a rectangle erased
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <seam/stage.hpp>

#include "stages/image/erase_image.hpp"

namespace seam::stages {

/// Draws whether to erase, the rectangle and its content (erase_image.hpp) from (run seed, stage,
/// epoch, sequence number), so the number of threads changes nothing. A landmark that is painted
/// over becomes occluded.
class Erase final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.erase";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void process(Packet& packet, Context& context) const override;

 private:
  enum class Fill : std::uint8_t { constant, random };

  void check_channels(const Image& image) const;

  double probability_ = 0.5;
  SideRanges ranges_{
      .area_least = 0.02, .area_most = 0.33, .aspect_least = 0.3, .aspect_most = 3.3};
  Fill fill_ = Fill::constant;
  std::optional<std::vector<std::uint8_t>> value_;
  std::vector<std::uint8_t> colour_;  // from open() on: the value, or black
};

}  // namespace seam::stages
