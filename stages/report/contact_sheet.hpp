/// Draws images of a data set small: each as a JPEG file, or many as one image, each with a frame
/// and two lines of text below it.
///
///     ┌────┬────┬────┐
///     │ a  │ p  │ n  │   columns: a group that fits in one row is never split between rows
///     │g0 a│g0 p│g0 n│
///     └────┴────┴────┘
#pragma once

#include <seam/field.hpp>

namespace seam::stages {

struct SheetCell {
  Image image;                      ///< RGB
  std::array<std::string, 2> text;  ///< cut off if wider than the image
  Role role = Role::single;         ///< the frame's colour: blue, green and red for triplets
};

/// "anchor", "positive", "negative"; empty for single.
std::string role_name(Role role);

/// The number of columns that fits the groups, at most `most`. `groups`: the group of each cell, -1
/// for none.
std::size_t sheet_columns(std::span<const std::int64_t> groups, std::size_t most);

/// A grey image, for one that is missing.
Image blank();

/// Images are scaled to `size` pixels on their longer side. At least one cell and column.
Image contact_sheet(std::span<const SheetCell> cells, std::size_t columns, int size);

///     Origin{"inshop/Eval/list.txt", 17, "img/a.jpg"} ──► inshop/img/a.jpg ──► thumbnail ──► JPEG
///
/// The file of an image. `root`, if not empty, is the folder that file names in its list are
/// relative to; otherwise `known` is the file, as its data set located it. If both are empty, the
/// list's folder and those above it are searched. For an image in a tar, the path of its member:
/// "train.tar/a.jpg". Throws seam::Error (data) if there is no such file.
std::filesystem::path file_of(const Origin& origin, const std::filesystem::path& root,
                              const std::filesystem::path& known = {});

/// The whole image with its longer side scaled to `size` pixels; smaller images stay unchanged.
Image thumbnail_of(const Image& image, int size);

/// The decoded thumbnail of an image, which may be in a tar. Throws seam::Error (data) if it cannot
/// be read.
Image read_thumbnail(const std::filesystem::path& file, int size);

}  // namespace seam::stages
