#include "stages/dataset/category_numbers.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "stages/number_in.hpp"

namespace seam::stages {

NumberedCategories number_categories(const std::vector<std::string>& rows,
                                     const std::set<std::string>& all) {
  NumberedCategories categories;
  categories.rows.reserve(rows.size());
  const bool named = std::any_of(all.begin(), all.end(), [](const std::string& category) {
    return number_in<std::int64_t>(category).value_or(-1) < 0;
  });
  if (!named) {
    for (const std::string& row : rows) categories.rows.push_back(*number_in<std::int64_t>(row));
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
