/// Reads and decodes images to pixels, or throws an error that describes what is wrong with the
/// file.
///
///     bytes ──► content decides ──► size from the header ──► pixels ──► orientation ──► RGB
///               the format          against the limit        complete    of the camera
///                                                            or rejected
///
/// A truncated or damaged image is never returned half grey: common decoders fill in missing pixels
/// and report success, and a model then silently trains on them.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include <seam/image.hpp>

namespace seam::stages {

/// The bytes of a file. Throws seam::Error naming the path and the system's reason.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);

/// Decodes to 8-bit RGB, height x width x 3. The content determines the format; the name is only
/// used in messages. Supported: JPEG, PNG, WebP, PBM, PGM, PPM and PAM.
///
/// Orientation 1 to 8 (Exif 2.32, tag 0x0112) is applied. Grey becomes three equal channels, 16
/// bits are rounded to 8, palettes are looked up, alpha is dropped without blending, and CMYK is
/// assumed to be inverted (Adobe's convention, as in browsers, Pillow and OpenCV). Colour profiles
/// are ignored.
///
/// Throws seam::Error (Fault::data) naming the file if it is empty, not an image, truncated,
/// damaged, of an unsupported kind, or, by its header, larger than `max_pixels`.
Image decode_image(std::span<const std::uint8_t> bytes, std::string_view name,
                   std::uint64_t max_pixels = 64'000'000);

/// The image rotated and mirrored to be upright. `orientation` is the Exif tag's value; anything
/// outside 2 to 8 returns the same handle.
Image upright(const Image& image, int orientation);

}  // namespace seam::stages
