/// The right name for a misspelt one: "did you mean 'classes'?"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace seam::host {

/// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`,
/// without editing a position twice (optimal string alignment, the restricted Damerau-Levenshtein
/// distance). Bytes are compared; letters that differ only in case count as equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Up to `count` of the candidates that a typing mistake may have turned into `name`, nearest
/// first, equally near ones in alphabetical order.
std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& candidates,
                                       std::size_t count = 3);

/// "did you mean 'a'?", "did you mean 'a' or 'b'?", or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);
/// The same as the end of a sentence: "; did you mean 'a'?", or empty.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

/// "a, b, c", for lists in messages; at most `most` names, then "and 12 more".
std::string enumerated(const std::vector<std::string>& names, std::size_t most = 24);

/// "a -> b -> a", for messages about what leads back to its beginning.
std::string circle_text(const std::vector<std::string>& names);

}  // namespace seam::host
