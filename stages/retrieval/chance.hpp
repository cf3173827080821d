/// What retrieval scores without a model.
///
///     gallery of 5, 2 relevant, in random order:   . x . . x     the first k show one, or do not
#pragma once

#include <cstdint>

namespace seam::stages {

/// How likely a random order of a gallery of `gallery` images, `relevant` of which are right, shows
/// one of them among the first k. 1 where there are no more than k others.
[[nodiscard]] double chance_of_hit(std::int64_t gallery, std::int64_t relevant, std::int64_t k);

}  // namespace seam::stages
