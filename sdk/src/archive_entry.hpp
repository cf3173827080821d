/// What makes an entry of an archive a valid one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "seam/archive.hpp"

namespace seam {

/// How many bytes an element of that type takes; nothing for types that cannot be saved.
std::optional<std::uint64_t> element_size(std::string_view type);

/// What is wrong with an entry, as the end of a sentence; empty for one whose bytes are those of
/// its type and shape. Whoever reads an entry relies on this.
std::string problem_with(const Archive::Entry& entry);

}  // namespace seam
