#include "pipeline/text/count.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace seam::host {

std::string count_text(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) text += ',';
    text += digits[at];
  }
  return text;
}

std::string number_for_people(double number) {
  constexpr double least = 1e4;  // from here on, an exponent is needed for four digits
  constexpr double most = 1e7;
  const double size = std::abs(number);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), size >= least && size < most ? "%.0f" : "%.4g", number);
  return text.data();
}

std::string mebibytes_text(std::uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / 0x1p20;
  if (bytes > 0 && mebibytes < 0.05) return "<0.1 MiB";
  if (mebibytes >= 9.95)
    return count_text(static_cast<std::uint64_t>(std::llround(mebibytes))) + " MiB";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f MiB", mebibytes);
  return text.data();
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return count_text(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string packets_text(std::uint64_t count) {
  return counted(count, "packet");
}

}  // namespace seam::host
