/// Many small pictures as one, each with a frame and two lines of text under it.
///
///     ┌────┬────┬────┐
///     │ a  │ p  │ n  │   columns: a group never breaks in the middle of a row where it fits in one
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
  std::array<std::string, 2> text;  ///< cut off where they are wider than the picture
  Role role = Role::single;         ///< the frame's colour: blue, green and red for triplets
};

/// "anchor", "positive", "negative"; empty for single ones.
std::string role_name(Role role);

/// How many columns fit groups: of `most` at most. `groups`: the group of each cell, -1 for none.
std::size_t sheet_columns(std::span<const std::int64_t> groups, std::size_t most);

/// Pictures are scaled to `size` pixels on their longer side. At least one cell and column.
Image contact_sheet(std::span<const SheetCell> cells, std::size_t columns, int size);

}  // namespace seam::stages
