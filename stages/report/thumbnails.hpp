/// Finds images of a data set by their names in its list, and makes small JPEG files of them.
///
///     Origin{"inshop/Eval/list.txt", 17, "img/a.jpg"} ──► inshop/img/a.jpg ──► thumbnail ──► JPEG
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <seam/image.hpp>
#include <seam/origin.hpp>

namespace seam::stages {

/// The file of an image. File names in lists are relative to the list's folder or to one above it;
/// `root`, if not empty, is that folder. Throws seam::Error (data) if there is no such file.
std::filesystem::path file_of(const Origin& origin, const std::filesystem::path& root);

/// The whole image with its longer side scaled to `size` pixels; smaller images stay unchanged.
Image thumbnail_of(const Image& image, int size);

/// The decoded thumbnail of an image. Throws seam::Error (data) if it cannot be read.
Image read_thumbnail(const std::filesystem::path& file, int size);

/// RGB or grey pixels as a JPEG file.
std::vector<std::uint8_t> jpeg_of(const Image& image);

}  // namespace seam::stages
