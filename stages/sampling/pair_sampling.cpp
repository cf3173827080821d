#include "stages/sampling/pair_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <seam/error.hpp>
#include <unordered_map>
#include <utility>

#include "stages/counted.hpp"
#include "stages/sampling/permutation.hpp"

namespace seam::stages {
namespace {

std::int64_t pairs_of(std::int64_t images) {
  return images * (images - 1) / 2;
}

/// Pair `number` of {0, ..., images - 1}: (0, 1), (0, 2), (1, 2), (0, 3), ...
std::pair<std::int64_t, std::int64_t> pair_at(std::int64_t number) {
  auto second = static_cast<std::int64_t>((1 + std::sqrt(1 + 8 * static_cast<double>(number))) /
                                          2);  // rounded, so the loops correct it
  while (pairs_of(second) > number) --second;
  while (pairs_of(second + 1) <= number) ++second;
  return {number - pairs_of(second), second};
}

std::uint64_t size_of(const std::vector<std::int64_t>& values) {
  return values.size();
}

}  // namespace

PairSampler::PairSampler(std::span<const std::int64_t> items) {
  std::unordered_map<std::int64_t, std::int64_t> dense;
  item_of_row_.reserve(items.size());
  for (const std::int64_t item : items) {
    const auto next = static_cast<std::int64_t>(dense.size());
    item_of_row_.push_back(dense.try_emplace(item, next).first->second);
  }
  if (dense.size() < 2) {
    throw Error("pairs need images of at least two items, but only received " +
                counted(items.size(), "image") + " of " + counted(dense.size(), "item") +
                "; check the split, the folds and the limit of the data set");
  }
  first_.assign(dense.size() + 1, 0);
  for (const std::int64_t item : item_of_row_) ++first_[static_cast<std::size_t>(item) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  rows_of_item_.resize(items.size());
  std::vector<std::int64_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t row = 0; row < items.size(); ++row) {
    const auto item = static_cast<std::size_t>(item_of_row_[row]);
    rows_of_item_[static_cast<std::size_t>(next[item]++)] = static_cast<std::int64_t>(row);
    if (first_[item + 1] - first_[item] > 1) shared_.push_back(static_cast<std::int64_t>(row));
  }
  if (shared_.empty()) {
    throw Error(
        "no item has two images, so there is no pair of one item; check the split and the limit "
        "of the data set");
  }
  std::int64_t end = 0;
  for (std::size_t item = 0; item < dense.size(); ++item) {
    end += pairs_of(first_[item + 1] - first_[item]);
    pair_end_of_item_.push_back(end);
  }
}

std::int64_t PairSampler::other_pairs() const {
  return pairs_of(images()) - same_pairs();
}

Pair PairSampler::of_one_item(Random& random) const {
  const std::int64_t row = shared_[static_cast<std::size_t>(random.index(size_of(shared_)))];
  const auto item = static_cast<std::size_t>(item_of_row_[static_cast<std::size_t>(row)]);
  const auto begin = static_cast<std::size_t>(first_[item]);
  const auto others = static_cast<std::uint64_t>(first_[item + 1] - first_[item] - 1);
  // One of the others: the last image replaces the first of the pair.
  std::int64_t second = rows_of_item_[begin + static_cast<std::size_t>(random.index(others))];
  if (second == row) second = rows_of_item_[begin + static_cast<std::size_t>(others)];
  return {row, second, true};
}

Pair PairSampler::of_two_items(Random& random) const {
  const auto row = static_cast<std::size_t>(random.index(size_of(item_of_row_)));
  const auto item = static_cast<std::size_t>(item_of_row_[row]);
  const auto begin = static_cast<std::size_t>(first_[item]);
  const auto images = static_cast<std::size_t>(first_[item + 1] - first_[item]);
  // Rows are sorted by item, so the others are those before and after.
  auto other = static_cast<std::size_t>(random.index(rows_of_item_.size() - images));
  if (other >= begin) other += images;
  return {static_cast<std::int64_t>(row), rows_of_item_[other], false};
}

Pair PairSampler::released(Random& random) const {
  const auto row = static_cast<std::size_t>(random.index(size_of(item_of_row_)));
  const auto item = static_cast<std::size_t>(item_of_row_[row]);
  if (random.coin(0.5)) {
    const auto images = static_cast<std::uint64_t>(first_[item + 1] - first_[item]);
    const auto at =
        static_cast<std::size_t>(first_[item]) + static_cast<std::size_t>(random.index(images));
    return {static_cast<std::int64_t>(row), rows_of_item_[at], true};
  }
  const auto other = static_cast<std::size_t>(random.index(size_of(item_of_row_)));
  return {static_cast<std::int64_t>(row), static_cast<std::int64_t>(other),
          item_of_row_[other] == item_of_row_[row]};
}

Pair PairSampler::draw(PairRule rule, std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch,
                       std::uint64_t number) const {
  Random random(seed, stream, epoch, number);
  if (rule == PairRule::released) return released(random);
  // After all numbers that single pairs use.
  Random order(seed, stream, epoch, ~(number / 2));
  const bool same_first = order.coin(0.5);
  return same_first == (number % 2 == 0) ? of_one_item(random) : of_two_items(random);
}

Pair PairSampler::same_pair(std::int64_t number) const {
  const auto end = std::upper_bound(pair_end_of_item_.begin(), pair_end_of_item_.end(), number);
  const auto item = static_cast<std::size_t>(end - pair_end_of_item_.begin());
  const std::int64_t begin = item == 0 ? 0 : pair_end_of_item_[item - 1];
  const auto [first, second] = pair_at(number - begin);
  const auto rows = static_cast<std::size_t>(first_[item]);
  return {rows_of_item_[rows + static_cast<std::size_t>(first)],
          rows_of_item_[rows + static_cast<std::size_t>(second)], true};
}

Pair PairSampler::any_pair(std::int64_t number) const {
  const auto [first, second] = pair_at(number);
  return {first, second,
          item_of_row_[static_cast<std::size_t>(first)] ==
              item_of_row_[static_cast<std::size_t>(second)]};
}

std::vector<Pair> PairSampler::distinct(std::int64_t count, std::uint64_t seed) const {
  if (count < 2 || count % 2 != 0) {
    throw Error(
        "half of the pairs are of one item, so their number must be even, but is " + grouped(count),
        Fault::configuration);
  }
  if (const std::int64_t most = std::min(same_pairs(), other_pairs()); count / 2 > most) {
    throw Error(counted(count, "pair") + " are to be drawn, half of them of one item, but " +
                    counted(images(), "image") + " have " + counted(same_pairs(), "pair") +
                    " of one item and " + grouped(other_pairs()) + " of two; draw at most " +
                    grouped(2 * most),
                Fault::configuration);
  }
  const std::uint64_t stream = stream_of("pairs");
  const Permutation same(static_cast<std::uint64_t>(same_pairs()), Random(seed, stream, 0));
  const Permutation any(static_cast<std::uint64_t>(pairs_of(images())), Random(seed, stream, 1));
  std::vector<Pair> pairs;
  pairs.reserve(static_cast<std::size_t>(count));
  std::uint64_t next = 0;
  for (std::int64_t number = 0; number < count / 2; ++number) {
    pairs.push_back(same_pair(static_cast<std::int64_t>(same(static_cast<std::uint64_t>(number)))));
    Pair other = any_pair(static_cast<std::int64_t>(any(next++)));
    while (other.same) other = any_pair(static_cast<std::int64_t>(any(next++)));
    pairs.push_back(other);
  }
  return pairs;
}

std::vector<Pair> PairSampler::all() const {
  std::vector<Pair> pairs;
  pairs.reserve(static_cast<std::size_t>(pairs_of(images())));
  for (std::size_t first = 0; first < item_of_row_.size(); ++first) {
    for (std::size_t second = first + 1; second < item_of_row_.size(); ++second) {
      pairs.push_back({static_cast<std::int64_t>(first), static_cast<std::int64_t>(second),
                       item_of_row_[first] == item_of_row_[second]});
    }
  }
  return pairs;
}

}  // namespace seam::stages
