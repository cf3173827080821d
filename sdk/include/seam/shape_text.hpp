// SPDX-License-Identifier: Apache-2.0
/// Sizes of a tensor in messages: "[64,3,224,224]", "[]" for a scalar.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace seam {

[[nodiscard]] inline std::string shape_text(std::span<const std::int64_t> sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes) {
    text += (text.size() > 1 ? "," : "") + std::to_string(size);
  }
  return text + "]";
}

}  // namespace seam
