/// Numbers with a fixed count of decimals, for tables: "92.34", "0.0120".
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace seam::stages {

/// As printf's "%.*f" writes it, of any length.
inline std::string with_decimals(double number, int decimals = 2) {
  const int length = std::snprintf(nullptr, 0, "%.*f", decimals, number);
  std::string text(static_cast<std::size_t>(length), '\0');
  std::snprintf(text.data(), text.size() + 1, "%.*f", decimals, number);
  return text;
}

/// A share in percent, without the sign: 0.9234 as "92.34".
inline std::string percent(double share, int decimals = 2) {
  return with_decimals(100 * share, decimals);
}

}  // namespace seam::stages
