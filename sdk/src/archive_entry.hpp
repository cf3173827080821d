/// Validity of archive entries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "seam/archive.hpp"

namespace seam {

/// Size in bytes of an element of that type; nullopt for types that cannot be saved.
std::optional<std::uint64_t> element_size(std::string_view type);

/// Returns what is wrong with an entry, as the end of a sentence; empty if its bytes match its type
/// and shape. Readers of entries rely on this.
std::string problem_with(const Archive::Entry& entry);

}  // namespace seam
