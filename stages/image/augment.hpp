/// The stage that varies a training image in every epoch: one affine map, a flip and a brightness,
/// in one pass; then, optionally, other colours.
///
///     image ──► [ image.augment ] ──► image of the same size
///
///     AugmentationRanges ──► draw ──► Augmentation ──► augment_image
///     (a stage's parameters)  │       (numbers, for     (pure)
///                           Random     tests by hand)
///
/// The conventions are those of Keras-Preprocessing 1.1.0 (ImageDataGenerator), which the released
/// code of SCCapsNet and RCCapsNet trains with.
#pragma once

#include <seam/stage.hpp>

#include "stages/image/warp.hpp"

namespace seam::stages {

/// The fixed point of rotation, shear and zoom.
enum class Centre : std::uint8_t {
  middle,       ///< (n - 1) / 2 in each direction: the centre of the image
  keras_1_1_0,  ///< (n + 1) / 2: Keras-Preprocessing before 1.1.1, a pixel to the lower right
};

/// How brightness treats the range of values.
enum class Contrast : std::uint8_t {
  keep,
  /// Multiplies by 255 / (largest value of the warped image) first. A bug of Keras-Preprocessing up
  /// to 1.1.0 (array_to_img with scale=True inside apply_brightness_shift): training images are
  /// stretched, test images are not.
  stretch,
};

/// One draw. The defaults change nothing.
struct Augmentation {
  double rotation_degrees = 0;  ///< positive: content turns clockwise on a screen
  double shift_rows = 0;        ///< fraction of the height; positive: content moves up
  double shift_columns = 0;     ///< fraction of the width; positive: content moves left
  double shear_degrees = 0;
  double zoom_rows = 1;  ///< above 1: content shrinks
  double zoom_columns = 1;
  bool flip = false;  ///< horizontal
  double brightness = 1;
  double saturation = 1;   ///< 0: grey
  double hue_degrees = 0;  ///< rotation on the colour circle
  bool grey = false;       ///< like saturation 0, regardless of saturation and hue
};

/// Uniform ranges, symmetric if there is only one number.
struct AugmentationRanges {
  double rotation_degrees = 30;
  double shift = 0.2;
  double shear_degrees = 0.1;
  double zoom_least = 0.9;
  double zoom_most = 1.1;
  double flip_probability = 0.5;
  double brightness_least = 0.5;
  double brightness_most = 1.5;
  double saturation_least = 1;
  double saturation_most = 1;
  double hue_degrees = 0;
  double grey_probability = 0;
};

/// Draws the eleven numbers in the order of Augmentation's members, always eleven, so that an empty
/// range does not change the draws of the others.
Augmentation draw_augmentation(const AugmentationRanges& ranges, Random& random);

/// The composed affine map with the flip folded in: centre, rotation, shift, shear and zoom
/// (apply_affine_transform of Keras-Preprocessing 1.1.0), for an image of height x width.
SourceMap source_map(const Augmentation& augmentation, int height, int width, Centre centre);

/// The matrix that maps a colour (red, green, blue): its chroma, the difference from its luma, is
/// rotated and scaled; the luma stays. The coefficients are those of `hueRotate` and `saturate` in
/// the W3C's Filter Effects Module Level 1, section 9.6.
std::array<double, 9> colour_matrix(double saturation, double hue_degrees);

/// The augmented image, of the same size. Returns the same handle if nothing changes. Rounds once,
/// to the nearest value (Keras truncates twice). Throws like warp_bilinear.
Image augment_image(const Image& image, const Augmentation& augmentation,
                    Centre centre = Centre::middle, Contrast contrast = Contrast::keep);

class Augment final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.augment";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void process(Packet& packet, Context& context) const override;

 private:
  enum class Preset : std::uint8_t { corrected, as_published, as_released };

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
  // From open() on: the preset and what overrides it. No preset sets the colours.
  AugmentationRanges ranges_;
  Centre centre_ = Centre::middle;
  Contrast contrast_ = Contrast::keep;
};

}  // namespace seam::stages
