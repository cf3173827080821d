#include "stages/dataset/category_numbers.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "stages/number_in.hpp"

namespace seam::stages {

std::optional<std::int64_t> category_number(std::string_view category) {
  const auto number = number_in<std::int64_t>(category);
  return number && *number >= 0 ? number : std::nullopt;
}

NumberedCategories number_categories(const std::vector<std::string>& rows,
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
