/// The interface through which sampling.triplets gets hard negatives from sampling.mined: without
/// tensors, by image numbers.
///
///     sampling.mined ──► each image's negative (and positive) ──► sampling.triplets
///        ▲ embeddings of the training images, in a separate flow
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

/// The source of a triplet's negative. Always an image of a different item.
enum class NegativeSource : std::uint8_t {
  random_other_item,       ///< uniform; needs no embeddings
  hardest_other_category,  ///< the closest image of another category
  hardest_same_category,   ///< the closest image of the same category
  semi_hard,               ///< the closest image that is farther than the positive
};

/// The name in pipeline files.
[[nodiscard]] constexpr std::string_view to_string(NegativeSource negatives) {
  switch (negatives) {
    case NegativeSource::random_other_item:
      return "random_other_item";
    case NegativeSource::hardest_other_category:
      return "hardest_other_category";
    case NegativeSource::hardest_same_category:
      return "hardest_same_category";
    case NegativeSource::semi_hard:
      return "semi_hard";
  }
  return {};
}

struct MiningRule {
  NegativeSource negatives = NegativeSource::semi_hard;
  double margin = 0;  ///< semi_hard: how much farther the negative may be

  friend bool operator==(const MiningRule&, const MiningRule&) = default;
};

/// The results for each image, as positions among the mined images.
struct MinedLists {
  std::vector<std::int64_t> negatives;  ///< one per image
  std::vector<std::int64_t>
      positives;  ///< semi_hard: the positive used for the negative; else empty

  friend bool operator==(const MinedLists&, const MinedLists&) = default;
};

/// A training image that was embedded.
struct MinedImage {
  std::int64_t index = -1;  ///< its position in its list
  std::string item;
  std::string name;  ///< name of the image in its list

  friend bool operator==(const MinedImage&, const MinedImage&) = default;
};

class MinedNegatives {
 public:
  virtual ~MinedNegatives() = default;

  /// To be called in open() of a stage that draws by this rule: each embedding flow then mines for
  /// it.
  virtual void want(const MiningRule& rule) = 0;
  /// The last results for the rule, or nullptr if no flow has mined yet.
  [[nodiscard]] virtual const MinedLists* lists(const MiningRule& rule) const = 0;
  /// The embedded images, in ascending order of index, without duplicates.
  [[nodiscard]] virtual std::span<const MinedImage> images() const = 0;
};

}  // namespace seam::stages
