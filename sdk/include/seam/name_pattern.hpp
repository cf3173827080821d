// SPDX-License-Identifier: Apache-2.0
/// Patterns for the dotted names of weights, as in `freeze` and `no_decay`.
///
///     layer1.*        all that begins with "layer1."
///     *.bias          all biases
///     fc.weight       this one
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace seam {

/// Whether the name matches the pattern: '*' matches any text, including dots; no other character
/// is special.
[[nodiscard]] inline bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;
  std::size_t in_name = 0;
  std::size_t star = std::string_view::npos;  // the last one seen
  std::size_t resume = 0;                     // position to resume matching from
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = in_name;
    } else if (at < pattern.size() && pattern[at] == name[in_name]) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++resume;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

[[nodiscard]] inline bool matches_any(const std::vector<std::string>& patterns,
                                      std::string_view name) {
  for (const std::string& pattern : patterns) {
    if (matches(pattern, name)) return true;
  }
  return false;
}

}  // namespace seam
