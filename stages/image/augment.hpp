/// The stage that varies a training image in every epoch.
///
///     image ──► [ image.augment ] ──► image of the same size
#pragma once

#include <optional>
#include <string_view>

#include <seam/stage.hpp>

#include "stages/image/augment_image.hpp"

namespace seam::stages {

/// Draws one Augmentation per packet (augment_image.hpp) from (run seed, stage, epoch, sequence
/// number), so the number of threads changes nothing.
class Augment final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.augment";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void process(Packet& packet, Context& context) const override;

 private:
  enum class Preset : std::uint8_t { corrected, as_published, as_released };
  enum class CentreChoice : std::uint8_t { of_preset, middle, keras_1_1_0 };
  struct Settings {
    AugmentationRanges ranges;
    Centre centre = Centre::middle;
    Contrast contrast = Contrast::keep;
  };
  static Settings settings_of(Preset preset);

  Preset preset_ = Preset::corrected;
  std::optional<double> rotation_degrees_;
  std::optional<double> shift_;
  std::optional<double> shear_degrees_;
  std::optional<double> zoom_least_;
  std::optional<double> zoom_most_;
  std::optional<double> flip_probability_;
  std::optional<double> brightness_least_;
  std::optional<double> brightness_most_;
  std::optional<bool> stretch_;
  double saturation_least_ = 1;
  double saturation_most_ = 1;
  double hue_degrees_ = 0;
  double grey_probability_ = 0;
  CentreChoice centre_ = CentreChoice::of_preset;
  Settings settings_;  // the preset and what overrides it, from open() on
};

}  // namespace seam::stages
