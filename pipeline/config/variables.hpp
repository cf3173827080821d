/// ${VAR} and ${VAR:-default} in texts, and $$ for a dollar sign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace seam::host {

using Environment = std::map<std::string, std::string>;

/// An error at some characters of a text.
struct TextFault {
  std::size_t offset = 0;
  std::size_t length = 1;
  std::string code;
  std::string message;
  std::vector<std::string> notes;
};

struct Expansion {
  std::string text;
  /// For each byte of `text` the byte of the original that it comes from; for a variable's value,
  /// that of its dollar sign.
  std::vector<std::uint32_t> written;
  std::vector<TextFault> faults;
};

/// Replaces variables by their values; a default replaces one that is not set or empty, and may
/// itself contain variables. Other dollar signs are unchanged.
Expansion expand_variables(std::string_view text, const Environment& environment);

}  // namespace seam::host
