/// Retrieval scores without a model.
///
///     gallery of 5, 2 relevant, in random order:   . x . . x     do the first k contain one?
#pragma once

#include <cstdint>

namespace seam::stages {

/// The probability that a random order of `gallery` images, of which `relevant` are right, has one
/// of these among the first k. 1 if there are fewer than k others.
[[nodiscard]] double chance_of_hit(std::int64_t gallery, std::int64_t relevant, std::int64_t k);

}  // namespace seam::stages
