/// Many small images as one, each with a frame and two lines of text below it.
///
///     ┌────┬────┬────┐
///     │ a  │ p  │ n  │   columns: a group that fits in one row is never split between rows
///     │g0 a│g0 p│g0 n│
///     └────┴────┴────┘
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <seam/field.hpp>
#include <seam/image.hpp>

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

/// Images are scaled to `size` pixels on their longer side. At least one cell and column.
Image contact_sheet(std::span<const SheetCell> cells, std::size_t columns, int size);

}  // namespace seam::stages
