/// Numbers the categories of a list: those that are numbers keep them, and names are numbered in
/// bytewise order.
///
///     3, 0, 3            ──► 3, 0, 3
///     hats, boots, hats  ──► 1, 0, 1   boots, hats
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "stages/number_in.hpp"

namespace seam::stages {

struct NumberedCategories {
  std::vector<std::int64_t> rows;
  std::vector<std::string> names;  ///< empty if categories are numbers
};

/// The whole number of at least 0 that the category is; nullopt for a name.
[[nodiscard]] inline std::optional<std::int64_t> category_number(std::string_view category) {
  const auto number = number_in<std::int64_t>(category);
  return number && *number >= 0 ? number : std::nullopt;
}

/// `all`: the categories of the whole list, of which `rows` may be a part; they are numbers if all
/// of them are whole numbers of at least 0.
[[nodiscard]] inline NumberedCategories number_categories(const std::vector<std::string>& rows,
                                                          const std::set<std::string>& all) {
  NumberedCategories categories;
  categories.rows.reserve(rows.size());
  const bool named = std::any_of(all.begin(), all.end(), [](const std::string& category) {
    return !category_number(category);
  });
  if (!named) {
    for (const std::string& row : rows) categories.rows.push_back(*category_number(row));
    return categories;
  }
  std::unordered_map<std::string_view, std::int64_t> numbers;
  for (const std::string& category : all) {
    numbers.emplace(category, static_cast<std::int64_t>(numbers.size()));
  }
  for (const std::string& row : rows) categories.rows.push_back(numbers.at(row));
  categories.names.assign(all.begin(), all.end());
  return categories;
}

}  // namespace seam::stages
