/// How sampling.triplets asks sampling.mined for hard negatives: without tensors, by numbers of
/// images.
///
///     sampling.mined ──► each image's negative (and positive) ──► sampling.triplets
///        ▲ embeddings of the training images, in a flow of its own
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

/// Where a triplet's negative comes from. Always an image of another item.
enum class NegativeSource : std::uint8_t {
  random_other_item,       ///< uniform; needs no embeddings
  hardest_other_category,  ///< the closest image of another category
  hardest_same_category,   ///< the closest image of the same category
  semi_hard,               ///< the closest image that is farther than the positive
};

/// As pipeline files write it.
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
  double margin = 0;  ///< semi_hard: by how much the negative is farther at most

  friend bool operator==(const MiningRule&, const MiningRule&) = default;
};

/// What was found for each image, as positions among the mined images.
struct MinedLists {
  std::vector<std::int64_t> negatives;  ///< one an image
  std::vector<std::int64_t> positives;  ///< semi_hard: the positive it was found for; else empty

  friend bool operator==(const MinedLists&, const MinedLists&) = default;
};

/// A training image that was embedded.
struct MinedImage {
  std::int64_t index = -1;  ///< its position in its list
  std::string item;
  std::string name;  ///< the image, as its list names it

  friend bool operator==(const MinedImage&, const MinedImage&) = default;
};

class MinedNegatives {
 public:
  MinedNegatives() = default;
  virtual ~MinedNegatives() = default;

  /// From the open() of whoever draws by this rule: each flow of embeddings mines for it.
  virtual void want(const MiningRule& rule) = 0;
  /// What was mined last for the rule, or nullptr where no flow has done that yet.
  [[nodiscard]] virtual const MinedLists* lists(const MiningRule& rule) const = 0;
  /// The images that were embedded, in ascending order of index, no index twice.
  [[nodiscard]] virtual std::span<const MinedImage> images() const = 0;

 protected:
  // Only through what derives from it.
  MinedNegatives(const MinedNegatives&) = default;
  MinedNegatives& operator=(const MinedNegatives&) = default;
  MinedNegatives(MinedNegatives&&) = default;
  MinedNegatives& operator=(MinedNegatives&&) = default;
};

}  // namespace seam::stages
