#include "stages/sampling/mining.hpp"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <numeric>
#include <seam/error.hpp>

#include "stages/retrieval/exact_search.hpp"
#include "stages/retrieval/search_kernels.hpp"

namespace seam::stages {
namespace {

constexpr std::int64_t queries_at_once = 4096;

std::size_t at(std::int64_t row) {
  return static_cast<std::size_t>(row);
}

/// The rows that are searched for a row.
enum class Among : std::uint8_t { other_categories, own_category, all };

/// The properties shared by the rows of one search; -1: none.
struct Part {
  std::int64_t capsule = -1;
  std::int64_t within = -1;            ///< only rows of this category are searched
  std::int64_t without_category = -1;  ///< rows of this category are not searched
  std::int64_t without_item = -1;

  friend auto operator<=>(const Part&, const Part&) = default;
};

/// A negative of each row, or -1.
struct Nearest {
  std::vector<std::int64_t> rows;
  std::vector<float> distances;
};

/// Renumbers arbitrary numbers consecutively from 0; negative ones become -1.
std::vector<std::int64_t> renumbered(std::span<const std::int64_t> numbers) {
  std::map<std::int64_t, std::int64_t> known;
  std::vector<std::int64_t> dense;
  dense.reserve(numbers.size());
  for (const std::int64_t number : numbers) {
    if (number < 0) {
      dense.push_back(-1);
    } else {
      const auto next = static_cast<std::int64_t>(known.size());
      dense.push_back(known.try_emplace(number, next).first->second);
    }
  }
  return dense;
}

std::vector<std::int64_t> counts(const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> count;
  for (const std::int64_t number : numbers) {
    if (number < 0) continue;
    if (number >= static_cast<std::int64_t>(count.size())) count.resize(at(number) + 1, 0);
    ++count[at(number)];
  }
  return count;
}

class Miner {
 public:
  explicit Miner(const MiningSet& set)
      : set_(set),
        by_capsule_(set.vectors.dim() == 3),
        items_(renumbered(set.items)),
        categories_(set.categories.empty() ? std::vector<std::int64_t>(set.items.size(), -1)
                                           : renumbered(set.categories)),
        images_of_item_(counts(items_)),
        images_of_category_(counts(categories_)) {}

  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(items_.size()); }
  [[nodiscard]] std::size_t items() const { return images_of_item_.size(); }
  [[nodiscard]] std::size_t categories() const { return images_of_category_.size(); }

  /// Throws seam::Error naming a row without a category, or whose category has no capsule.
  void check_categories(const std::string& reader) const;
  /// For each of `queries`, the nearest row of a different item, farther than the query's bound if
  /// bounds are given.
  [[nodiscard]] Nearest nearest(const std::vector<std::int64_t>& queries, Among among,
                                const std::vector<float>& farther_than = {}) const;
  /// The distance as computed by a search.
  [[nodiscard]] std::vector<float> distances(std::span<const std::int64_t> others) const;

 private:
  [[nodiscard]] Part part_of(std::int64_t row, Among among) const;
  [[nodiscard]] std::vector<std::int64_t> gallery_of(const Part& part) const;
  [[nodiscard]] torch::Tensor vectors_of(const std::vector<std::int64_t>& rows,
                                         std::int64_t capsule) const;
  [[nodiscard]] bool is_negative(std::int64_t anchor, std::int64_t other, Among among) const;
  [[nodiscard]] std::int64_t passed_over(const Part& part, std::int64_t row, Among among) const;

  const MiningSet& set_;
  bool by_capsule_;
  std::vector<std::int64_t> items_;
  std::vector<std::int64_t> categories_;  ///< -1: unknown
  std::vector<std::int64_t> images_of_item_;
  std::vector<std::int64_t> images_of_category_;
};

void Miner::check_categories(const std::string& reader) const {
  for (std::int64_t row = 0; row < rows(); ++row) {
    if (categories_[at(row)] < 0) {
      throw Error(set_.name_of_row(row) + " has no category, which " + reader +
                      " needs; use a data set with categories, or a different value of `negatives`",
                  Fault::configuration);
    }
    const std::int64_t category = set_.categories[at(row)];
    if (by_capsule_ && category >= set_.vectors.size(1)) {
      throw Error(set_.name_of_row(row) + " is of category " + std::to_string(category) +
                      ", but the model has class capsules 0 to " +
                      std::to_string(set_.vectors.size(1) - 1),
                  Fault::configuration);
    }
  }
}

Part Miner::part_of(std::int64_t row, Among among) const {
  const std::int64_t category = categories_[at(row)];
  const std::int64_t item = items_[at(row)];
  Part part;
  if (by_capsule_) part.capsule = set_.categories[at(row)];
  if (among == Among::own_category) part.within = category;
  if (among == Among::other_categories &&
      images_of_category_[at(category)] > set_.most_passed_over) {
    part.without_category = category;
  }
  if (images_of_item_[at(item)] > set_.most_passed_over) part.without_item = item;
  return part;
}

std::vector<std::int64_t> Miner::gallery_of(const Part& part) const {
  std::vector<std::int64_t> gallery;
  for (std::int64_t row = 0; row < rows(); ++row) {
    const std::int64_t category = categories_[at(row)];
    if (part.within >= 0 && category != part.within) continue;
    if (part.without_category >= 0 && category == part.without_category) continue;
    if (part.without_item >= 0 && items_[at(row)] == part.without_item) continue;
    gallery.push_back(row);
  }
  return gallery;
}

torch::Tensor Miner::vectors_of(const std::vector<std::int64_t>& rows, std::int64_t capsule) const {
  const torch::Tensor all = capsule < 0 ? set_.vectors : set_.vectors.select(1, capsule);
  return all.index_select(0, torch::tensor(rows, torch::kInt64)).contiguous();
}

bool Miner::is_negative(std::int64_t anchor, std::int64_t other, Among among) const {
  return items_[at(anchor)] != items_[at(other)] &&
         (among != Among::other_categories || categories_[at(anchor)] != categories_[at(other)]);
}

/// The number of rows of the part's gallery that may rank before the row's negative.
std::int64_t Miner::passed_over(const Part& part, std::int64_t row, Among among) const {
  std::int64_t count = 0;
  if (part.without_item < 0) count += images_of_item_[at(items_[at(row)])];
  if (among == Among::other_categories && part.without_category < 0) {
    count += images_of_category_[at(categories_[at(row)])];
  }
  return count;
}

Nearest Miner::nearest(const std::vector<std::int64_t>& queries, Among among,
                       const std::vector<float>& farther_than) const {
  Nearest result{std::vector<std::int64_t>(queries.size(), -1),
                 std::vector<float>(queries.size(), std::numeric_limits<float>::infinity())};
  std::map<Part, std::vector<std::int64_t>> parts;  // positions in `queries`
  for (std::size_t q = 0; q < queries.size(); ++q) {
    parts[part_of(queries[q], among)].push_back(static_cast<std::int64_t>(q));
  }
  for (const auto& [part, members] : parts) {
    const std::vector<std::int64_t> gallery = gallery_of(part);
    if (gallery.empty()) continue;
    const auto name_in = [this](const std::vector<std::int64_t>& rows) {
      return NameOfRow([this, &rows](std::int64_t row) { return set_.name_of_row(rows[at(row)]); });
    };
    const ExactIndex index(vectors_of(gallery, part.capsule), Metric::squared_euclidean,
                           name_in(gallery));
    for (std::size_t first = 0; first < members.size(); first += at(queries_at_once)) {
      const std::size_t last = std::min(members.size(), first + at(queries_at_once));
      std::vector<std::int64_t> rows;
      std::vector<float> bounds;
      SearchOptions options;
      options.k = 1;
      for (std::size_t m = first; m < last; ++m) {
        const std::int64_t row = queries[at(members[m])];
        rows.push_back(row);
        if (!farther_than.empty()) bounds.push_back(farther_than[at(members[m])]);
        options.k = std::max(options.k, passed_over(part, row, among) + 1);
      }
      options.k = std::min(options.k, index.size());
      options.farther_than = bounds;
      const Neighbours found = index.search(vectors_of(rows, part.capsule), options, name_in(rows));
      for (std::size_t q = 0; q < rows.size(); ++q) {
        for (std::size_t n = 0; n < at(found.k); ++n) {
          const std::int64_t place = found.rows[q * at(found.k) + n];
          if (place < 0) break;
          if (!is_negative(rows[q], gallery[at(place)], among)) continue;
          result.rows[at(members[first + q])] = gallery[at(place)];
          result.distances[at(members[first + q])] = found.distances[q * at(found.k) + n];
          break;
        }
      }
    }
  }
  return result;
}

std::vector<float> Miner::distances(std::span<const std::int64_t> others) const {
  const torch::Tensor vectors = set_.vectors.contiguous();
  const std::int64_t width = by_capsule_ ? vectors.size(2) : vectors.size(1);
  const std::int64_t stride = by_capsule_ ? vectors.size(1) * width : width;
  const float* data = vectors.data_ptr<float>();
  std::vector<float> all;
  for (std::int64_t row = 0; row < rows(); ++row) {
    const std::int64_t offset = by_capsule_ ? set_.categories[at(row)] * width : 0;
    const float* a = data + row * stride + offset;
    const float* b = data + others[at(row)] * stride + offset;
    const double squared =
        inner_product(a, a, width) + (inner_product(b, b, width) - 2 * inner_product(a, b, width));
    all.push_back(static_cast<float>(std::max(0.0, squared)));
  }
  return all;
}

/// Repeats the search for the rows without a negative.
std::int64_t fill_gaps(const Miner& miner, Nearest& found, Among among) {
  std::vector<std::int64_t> without;
  for (std::int64_t row = 0; row < miner.rows(); ++row) {
    if (found.rows[at(row)] < 0) without.push_back(row);
  }
  const Nearest instead = miner.nearest(without, among);
  for (std::size_t i = 0; i < without.size(); ++i) {
    found.rows[at(without[i])] = instead.rows[i];
    found.distances[at(without[i])] = instead.distances[i];
  }
  return static_cast<std::int64_t>(without.size());
}

void forget_beyond_margin(Nearest& found, const std::vector<float>& positive, double margin) {
  for (std::size_t row = 0; row < found.rows.size(); ++row) {
    if (found.rows[row] >= 0 &&
        static_cast<double>(found.distances[row]) > static_cast<double>(positive[row]) + margin) {
      found.rows[row] = -1;
    }
  }
}

}  // namespace

MiningResult mine(const MiningSet& set, const MiningRule& rule,
                  std::span<const std::int64_t> positives) {
  const Miner miner(set);
  if (miner.items() < 2) {
    throw Error("negatives need images of at least two items, but " + std::to_string(miner.rows()) +
                " images of one item were embedded");
  }
  const std::string reader = std::string(to_string(rule.negatives));
  if (set.vectors.dim() == 3) {
    miner.check_categories("compare = \"anchor_capsule\"");
  } else if (rule.negatives != NegativeSource::semi_hard) {
    miner.check_categories(reader);
  }
  std::vector<std::int64_t> all(at(miner.rows()));
  std::iota(all.begin(), all.end(), 0);
  MiningResult result;
  Nearest found;
  switch (rule.negatives) {
    case NegativeSource::random_other_item:
      throw Error("random_other_item is not mined", Fault::internal);
    case NegativeSource::hardest_other_category:
      found = miner.nearest(all, Among::other_categories);
      break;
    case NegativeSource::hardest_same_category:
      found = miner.nearest(all, Among::own_category);
      result.fallbacks = fill_gaps(miner, found, Among::other_categories);
      break;
    case NegativeSource::semi_hard: {
      const std::vector<float> positive = miner.distances(positives);
      found = miner.nearest(all, Among::all, positive);
      forget_beyond_margin(found, positive, rule.margin);
      result.fallbacks = fill_gaps(miner, found, Among::all);
      result.lists.positives.assign(positives.begin(), positives.end());
      break;
    }
  }
  double sum = 0;
  for (std::int64_t row = 0; row < miner.rows(); ++row) {
    if (found.rows[at(row)] < 0) {
      throw Error(reader + " has no negative for " + set.name_of_row(row) +
                      ": no image of a different category and item was embedded; choose a "
                      "different value of `negatives`",
                  Fault::configuration);
    }
    sum += static_cast<double>(found.distances[at(row)]);
  }
  result.mean_distance = sum / static_cast<double>(miner.rows());
  result.lists.negatives = std::move(found.rows);
  return result;
}

}  // namespace seam::stages
