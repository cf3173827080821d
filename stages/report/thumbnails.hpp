/// Pictures of a data set, found again by what its list calls them, small and as JPEG.
///
///     Origin{"inshop/Eval/list.txt", 17, "img/a.jpg"} ──► inshop/img/a.jpg ──► thumbnail ──► JPEG
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <seam/image.hpp>
#include <seam/origin.hpp>

namespace seam::stages {

/// The file of a picture. Lists name files relative to the folder that they are in, or to one above
/// it; `root`, where it is not empty, is that folder. Throws seam::Error (data) where there is no
/// such file.
std::filesystem::path file_of(const Origin& origin, const std::filesystem::path& root);

/// Whole, with its longer side `size` pixels; smaller pictures stay as they are.
Image thumbnail_of(const Image& image, int size);

/// The picture decoded and made small. Throws seam::Error (data) where it cannot be read.
Image read_thumbnail(const std::filesystem::path& file, int size);

/// RGB or grey pixels as a JPEG file.
std::vector<std::uint8_t> jpeg_of(const Image& image);

}  // namespace seam::stages
