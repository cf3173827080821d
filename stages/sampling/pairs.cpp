#include "stages/sampling/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stages/counted.hpp"
#include "stages/export/csv.hpp"
#include "stages/pair_fields.hpp"
#include "stages/sampling/base/permutation.hpp"

namespace seam::stages {
namespace {

std::int64_t pairs_of(std::int64_t images) {
  return images * (images - 1) / 2;
}

/// Sorts as the text does, but numbers in it by their value: "s2/1.pgm" before "s10/1.pgm".
std::string by_numbers(const std::string& text) {
  constexpr std::size_t digits = 20;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string key;
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), is_digit);
    const auto length = static_cast<std::size_t>(end - at);
    if (length > 0 && length < digits) key.append(digits - length, '0');
    key.append(at, end);
    at = end;
    if (at != text.end()) key.push_back(*at++);
  }
  return key;
}

/// The numbers of the rows in order of their images' names, whatever order they arrived in.
std::vector<std::size_t> in_order_of_names(const std::vector<Packet>& rows) {
  std::vector<std::tuple<std::string, std::string, std::int64_t>> keys;
  for (const Packet& row : rows) {
    keys.emplace_back(by_numbers(row.origin().item), row.origin().text(),
                      row.has(field::index) ? row.get(field::index) : -1);
  }
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::size_t row) -> const auto& { return keys[row]; });
  return order;
}

/// Pair `number` of {0, ..., images - 1}: (0, 1), (0, 2), (1, 2), (0, 3), ...
std::pair<std::int64_t, std::int64_t> pair_at(std::int64_t number) {
  auto second = static_cast<std::int64_t>((1 + std::sqrt(1 + 8 * static_cast<double>(number))) /
                                          2);  // rounded, so the loops correct it
  while (pairs_of(second) > number) --second;
  while (pairs_of(second + 1) <= number) ++second;
  return {number - pairs_of(second), second};
}

}  // namespace

void DrawnPairs::declare(Declaration& d) {
  d.doc(
      "Collects the images of an epoch and emits them as pairs, of one item or of two: two "
      "consecutive packets that share a `group`. `batch` keeps them together; its carry = "
      "[\"same_item as same\"] passes the labels on to the loss.\n\nPlace it between the data set "
      "and `image.decode`, so that it collects only the names of an epoch's images and not their "
      "pixels.");
  d.parameter("pairs", drawn_,
              "each_epoch: new random pairs in every epoch, for training; once: distinct pairs, "
              "the same in every epoch and run, half of them matching; all: every pair of two "
              "images",
              {{"each_epoch", Drawn::each_epoch}, {"once", Drawn::once}, {"all", Drawn::all}});
  d.parameter("count", count_wanted_,
              "number of pairs for each_epoch or once; default: the number of images, or for once, "
              "the largest balanced number")
      .at_least(1)
      .only_with("pairs", std::vector<std::string>{"each_epoch", "once"});
  d.needs(field::item);
  d.provides(field::group).doc("the pair's number in the epoch");
  d.provides(field::group_size).doc("2");
  d.provides(field::same_item).doc("1 for a pair of one item, 0 for one of two");
}

void DrawnPairs::begin(Context& context) {
  if (drawn_ == Drawn::once) flow_.enter(context);
  fixed_.clear();
  EpochSampler::begin(context);
}

std::int64_t DrawnPairs::start(const Context& context) {
  sampler_.emplace(items());
  switch (drawn_) {
    case Drawn::each_epoch:
      return count_wanted_.value_or(sampler_->images());
    case Drawn::once:
      fixed_ = drawn_once();
      write_list(context);
      break;
    case Drawn::all:
      fixed_ = sampler_->all();
      break;
  }
  const auto count = static_cast<std::int64_t>(fixed_.size());
  if (context.epoch() > 0) return count;
  const auto same =
      std::count_if(fixed_.begin(), fixed_.end(), [](const Pair& pair) { return pair.same; });
  context.info(counted(count, "pair") + " of " + counted(rows().size(), "image") + ", " +
               grouped(same) + " of them of one item");
  return count;
}

std::vector<Pair> DrawnPairs::drawn_once() const {
  const std::vector<std::size_t> order = in_order_of_names(rows());
  std::vector<std::int64_t> ordered;
  ordered.reserve(order.size());
  for (const std::size_t row : order) ordered.push_back(items()[row]);
  std::vector<Pair> pairs = PairSampler(ordered).distinct(
      count_wanted_.value_or(2 * std::min(sampler_->same_pairs(), sampler_->other_pairs())), 0);
  for (Pair& pair : pairs) {
    pair.first = static_cast<std::int64_t>(order[static_cast<std::size_t>(pair.first)]);
    pair.second = static_cast<std::int64_t>(order[static_cast<std::size_t>(pair.second)]);
  }
  return pairs;
}

void DrawnPairs::write_list(const Context& context) const {
  if (context.run_directory().empty()) {
    context.info("the run has no run folder, so the pairs are not written");
    return;
  }
  std::string text = csv_line({"pair", "same", "first", "second", "first_item", "second_item"});
  for (std::size_t number = 0; number < fixed_.size(); ++number) {
    const Packet& first = row(fixed_[number].first);
    const Packet& second = row(fixed_[number].second);
    text += csv_line({std::to_string(number), fixed_[number].same ? "1" : "0", first.origin().item,
                      second.origin().item, first.get(field::item), second.get(field::item)});
  }
  export_file(export_path("pairs", context).string() + ".csv", text);
}

Pair DrawnPairs::pair(std::int64_t number, const Context& context) const {
  if (drawn_ != Drawn::each_epoch) return fixed_[static_cast<std::size_t>(number)];
  return sampler_->draw(context.seed(), stream_of(context.stage()),
                        static_cast<std::uint64_t>(context.epoch()),
                        static_cast<std::uint64_t>(number));
}

std::vector<Packet> DrawnPairs::group(std::int64_t number, const Context& context) {
  const Pair drawn = pair(number, context);
  std::vector<Packet> packets{row(drawn.first), row(drawn.second)};
  for (Packet& packet : packets) {
    packet.set(field::group_size, std::int64_t{2});
    packet.set(field::same_item, std::int64_t{drawn.same ? 1 : 0});
  }
  return packets;
}

PairSampler::PairSampler(std::span<const std::int64_t> items) : index_(items) {
  if (index_.items() < 2) {
    throw Error("pairs need images of at least two items, but only received " +
                counted(items.size(), "image") + " of " + counted(index_.items(), "item") +
                "; check the split, the folds and the limit of the data set");
  }
  for (std::int64_t row = 0; row < images(); ++row) {
    if (index_.rows_of(index_.item_of(row)).size() > 1) shared_.push_back(row);
  }
  if (shared_.empty()) {
    throw Error(
        "no item has two images, so there is no pair of one item; check the split and the limit of "
        "the data set");
  }
  std::int64_t end = 0;
  for (std::size_t item = 0; item < index_.items(); ++item) {
    end += pairs_of(std::ssize(index_.rows_of(item)));
    pair_end_of_item_.push_back(end);
  }
}

std::int64_t PairSampler::other_pairs() const {
  return pairs_of(images()) - same_pairs();
}

Pair PairSampler::balanced(bool same, Random& random) const {
  if (!same) {
    const std::int64_t row = any_row(random);
    return {row, index_.of_other_item(row, random), false};
  }
  const std::int64_t row = shared_[static_cast<std::size_t>(random.index(shared_.size()))];
  return {row, index_.other_of_item(row, random), true};
}

Pair PairSampler::draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch,
                       std::uint64_t number) const {
  Random random(seed, stream, epoch, number);
  // After all numbers that single pairs use.
  Random order(seed, stream, epoch, ~(number / 2));
  const bool same_first = order.coin(0.5);
  return balanced(same_first == (number % 2 == 0), random);
}

Pair PairSampler::same_pair(std::int64_t number) const {
  const auto end = std::upper_bound(pair_end_of_item_.begin(), pair_end_of_item_.end(), number);
  const auto item = static_cast<std::size_t>(end - pair_end_of_item_.begin());
  const std::int64_t begin = item == 0 ? 0 : pair_end_of_item_[item - 1];
  const auto [first, second] = pair_at(number - begin);
  const std::span<const std::int64_t> rows = index_.rows_of(item);
  return {rows[static_cast<std::size_t>(first)], rows[static_cast<std::size_t>(second)], true};
}

Pair PairSampler::any_pair(std::int64_t number) const {
  const auto [first, second] = pair_at(number);
  return pair_of(first, second);
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
  for (std::int64_t first = 0; first < images(); ++first) {
    for (std::int64_t second = first + 1; second < images(); ++second) {
      pairs.push_back(pair_of(first, second));
    }
  }
  return pairs;
}

}  // namespace seam::stages
