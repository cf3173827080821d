/// What users may call a field that they name in a pipeline file.
#pragma once

#include <algorithm>
#include <string_view>

namespace seam::stages {

/// Letters, digits and underscores, at least one.
[[nodiscard]] inline bool is_field_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace seam::stages
