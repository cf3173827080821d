/// Encoded pictures to pixels, or an error that says what is wrong with the file.
///
///     bytes ──► content decides ──► size from the header ──► pixels ──► orientation ──► RGB
///               the format          against the limit        complete    of the camera
///                                                            or refused
///
/// A picture that is cut short or damaged is never returned half grey: common decoders fill what is
/// missing and return success, and a model then trains on it in silence.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <seam/image.hpp>

namespace seam::stages {

struct DecodeLimits {
  /// Pictures with more pixels are refused by their header, before memory is taken for them.
  std::uint64_t max_pixels = 64'000'000;
};

/// Decodes to 8-bit RGB, height x width x 3. The content decides the format, not the name, which
/// only serves messages. Read: JPEG, PNG, TIFF, WebP, BMP, GIF (its first picture), PBM, PGM, PPM,
/// PAM, Sun raster and JPEG 2000.
///
/// Orientation 1 to 8 (Exif 2.32, tag 0x0112) is applied. Grey becomes three equal channels, 16
/// bits are rounded to 8, palettes are looked up, alpha is dropped without blending, and CMYK is
/// taken as inverted (Adobe's convention, which browsers, Pillow and OpenCV follow too). Colour
/// profiles are ignored.
///
/// Throws seam::Error (Fault::data) naming the file where it is empty, no picture, cut short,
/// damaged, of an unsupported kind, or larger than the limit.
Image decode_image(std::span<const std::uint8_t> bytes, std::string_view name,
                   const DecodeLimits& limits = {});

/// The image turned and mirrored so that it stands upright. `orientation` is the Exif tag's value;
/// anything outside 2 to 8 returns the same handle.
Image upright(const Image& image, int orientation);

}  // namespace seam::stages
