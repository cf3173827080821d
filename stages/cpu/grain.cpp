#include "stages/cpu/grain.hpp"

#include <cstdlib>

namespace seam::stages {

std::int64_t grain(std::int64_t usual) {
  static const std::int64_t from_environment = [] {
    const char* text = std::getenv("SEAM_GRAIN");  // NOLINT(concurrency-mt-unsafe): read once
    return text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
  }();
  return from_environment > 0 ? from_environment : usual;
}

}  // namespace seam::stages
