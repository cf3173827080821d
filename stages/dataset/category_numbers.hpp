/// Numbers the categories of a list: those that are numbers keep them, and names are numbered in
/// bytewise order.
///
///     3, 0, 3            ──► 3, 0, 3
///     hats, boots, hats  ──► 1, 0, 1   boots, hats
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

struct NumberedCategories {
  std::vector<std::int64_t> rows;
  std::vector<std::string> names;  ///< empty if categories are numbers
};

/// The whole number of at least 0 that the category is; nullopt for a name.
[[nodiscard]] std::optional<std::int64_t> category_number(std::string_view category);

/// `all`: the categories of the whole list, of which `rows` may be a part; they are numbers if all
/// of them are whole numbers of at least 0.
[[nodiscard]] NumberedCategories number_categories(const std::vector<std::string>& rows,
                                                   const std::set<std::string>& all);

}  // namespace seam::stages
