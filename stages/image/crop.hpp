/// The stage that keeps a part of each image.
///
///     image, perhaps box ──► [ image.crop ] ──► image of height x width, or of the box
///
/// With `position = "random_resized"` the part has a random size and is resized to height x width.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <seam/stage.hpp>

#include "stages/image/crop_image.hpp"
#include "stages/image/resize_image.hpp"

namespace seam::stages {

/// Cuts out the box, if set, and height x width of the result (crop_image.hpp). Random places come
/// from (run seed, stage, epoch, sequence number), so the number of threads changes nothing.
class Crop final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.crop";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void process(Packet& packet, Context& context) const override;

 private:
  enum class Position : std::uint8_t { centre, random, random_resized };

  /// Throws seam::Error for a parameter that has no effect with the position.
  void check_resizing_unset() const;
  Region region_of(const Image& image, const Packet& packet, Context& context) const;

  std::optional<int> height_;
  std::optional<int> width_;
  Position position_ = Position::centre;
  bool box_ = false;
  // For random_resized; other positions reject them if set.
  std::optional<double> area_least_;
  std::optional<double> area_most_;
  std::optional<double> aspect_least_;
  std::optional<double> aspect_most_;
  Interpolation interpolation_ = Interpolation::bilinear;
  SideRanges ranges_;  // from open() on
};

}  // namespace seam::stages
