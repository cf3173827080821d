#include "pipeline/text/count.hpp"

#include <cstddef>

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

std::string packets_text(std::uint64_t count) {
  return count_text(count) + (count == 1 ? " packet" : " packets");
}

}  // namespace seam::host
