#include "stages/cpu/grain.hpp"

#include <cstdlib>
#include <optional>

namespace seam::stages {
namespace {

std::optional<std::int64_t> environment_grain() {
  const char* text = std::getenv("SEAM_GRAIN");  // NOLINT(concurrency-mt-unsafe): read once
  if (text == nullptr) return std::nullopt;
  const std::int64_t value = std::strtoll(text, nullptr, 10);
  return value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::int64_t grain(std::int64_t usual) {
  static const std::optional<std::int64_t> from_environment = environment_grain();
  return from_environment.value_or(usual);
}

}  // namespace seam::stages
