#include "stages/report/duplicate_pairs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <seam/error.hpp>
#include <seam/opencv.hpp>
#include <tuple>

#include "stages/image/resize_image.hpp"

namespace seam::stages {
namespace {

constexpr int hash_rows = 8;
constexpr int hash_bits_of_row = 8;

Image converted(const Image& image, int code) {
  cv::Mat pixels;
  cv::cvtColor(view_as_mat(image), pixels, code);
  return image_from_mat(pixels);
}

Image grey(const Image& image) {
  if (image.channels() == 1) return image;
  return converted(image, image.channels() == 3 ? cv::COLOR_RGB2GRAY : cv::COLOR_RGBA2GRAY);
}

Image coloured(const Image& image) {
  if (image.channels() == 3) return image;
  return converted(image, image.channels() == 1 ? cv::COLOR_GRAY2RGB : cv::COLOR_RGBA2RGB);
}

enum class Found : std::uint8_t { nothing, near, identical };

/// The nearest `most` of any number of pairs, in memory for twice that number.
class NearestPairs {
 public:
  explicit NearestPairs(std::size_t most) : most_(most) {}

  void add(const DuplicatePair& pair) {
    if (most_ == 0) return;
    pairs_.push_back(pair);
    if (pairs_.size() < 2 * most_) return;
    std::ranges::nth_element(pairs_, pairs_.begin() + static_cast<std::ptrdiff_t>(most_));
    pairs_.resize(most_);
  }

  [[nodiscard]] std::vector<DuplicatePair> sorted() {
    std::ranges::sort(pairs_);
    if (pairs_.size() > most_) pairs_.resize(most_);
    return std::move(pairs_);
  }

 private:
  std::size_t most_;
  std::vector<DuplicatePair> pairs_;
};

Likeness likeness_of(const HashedPicture& a, const HashedPicture& b) {
  if (a.hash.pixels != b.hash.pixels) return Likeness::near;
  return !a.file.empty() && a.file == b.file ? Likeness::same_file : Likeness::same_pixels;
}

void count(const std::vector<Found>& found, DuplicateCount& counted) {
  counted.identical = std::ranges::count(found, Found::identical);
  counted.near = std::ranges::count(found, Found::near);
}

/// The data that rules out most pairs, packed for the loop over all of them.
struct Sketch {
  std::uint64_t differences;
  std::int64_t sum;  // of the small image
};

std::vector<Sketch> sketches(const HashedFlow& flow) {
  std::vector<Sketch> all;
  all.reserve(flow.pictures.size());
  for (const HashedPicture& picture : flow.pictures) {
    const SmallPicture& small = picture.hash.small;
    all.push_back(
        {picture.hash.differences, std::accumulate(small.begin(), small.end(), std::int64_t{0})});
  }
  return all;
}

}  // namespace

std::uint64_t pixels_hash(const Image& image) {
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&hash](std::uint8_t byte) { hash = (hash ^ byte) * 1099511628211U; };
  for (const int size : {image.height(), image.width(), image.channels()}) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      add(static_cast<std::uint8_t>(static_cast<std::uint32_t>(size) >> shift));
    }
  }
  for (const std::uint8_t byte : image.pixels()) add(byte);
  return hash;
}

std::uint64_t difference_hash(const Image& image) {
  const Image small =
      resize_image(grey(image), hash_rows, hash_bits_of_row + 1, Interpolation::area);
  std::uint64_t hash = 0;
  for (int y = 0; y < hash_rows; ++y) {
    const std::uint8_t* row = small.row(y);
    for (int x = 0; x < hash_bits_of_row; ++x) {
      if (row[x] < row[x + 1]) hash |= std::uint64_t{1} << (hash_bits_of_row * y + x);
    }
  }
  return hash;
}

SmallPicture small_picture(const Image& image) {
  const Image small = resize_image(coloured(image), small_side, small_side, Interpolation::area);
  SmallPicture numbers;
  std::ranges::copy(small.pixels(), numbers.begin());
  return numbers;
}

double difference_of(const SmallPicture& a, const SmallPicture& b) {
  std::int32_t squares = 0;  // at most 768 * 255^2
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int difference = int{a[i]} - int{b[i]};
    squares += difference * difference;
  }
  return std::sqrt(static_cast<double>(squares) / static_cast<double>(a.size()));
}

PictureHash hash_of(const Image& image) {
  if (image.empty()) throw Error("the image has no pixels");
  return {pixels_hash(image), difference_hash(image), small_picture(image)};
}

Duplicates find_duplicates(const HashedFlow& flow, const std::vector<const HashedFlow*>& others,
                           const DuplicateRule& rule, const std::function<bool()>& stop) {
  const std::vector<Sketch> own = sketches(flow);
  // The root of the mean square is at least the difference of the means.
  const double most_apart = rule.near_difference * std::tuple_size_v<SmallPicture>;
  NearestPairs nearest(rule.pairs);
  std::vector<Found> found_anywhere(own.size(), Found::nothing);
  Duplicates duplicates;
  for (std::size_t at = 0; at < others.size(); ++at) {
    const HashedFlow& other = *others[at];
    const bool itself = &other == &flow;
    const std::vector<Sketch> theirs = itself ? own : sketches(other);
    DuplicateCount counted;
    counted.compared_with = std::ssize(theirs);
    std::vector<Found> found(own.size(), Found::nothing);
    for (std::size_t row = 0; row < own.size(); ++row) {
      if (stop()) throw Error("stopped while images were compared", Fault::cancelled);
      const std::size_t end = itself ? row : theirs.size();
      for (std::size_t i = 0; i < end; ++i) {
        if (std::popcount(own[row].differences ^ theirs[i].differences) > rule.near_bits) continue;
        if (static_cast<double>(std::abs(own[row].sum - theirs[i].sum)) > most_apart) continue;
        const HashedPicture& a = flow.pictures[row];
        const HashedPicture& b = other.pictures[i];
        const double difference = difference_of(a.hash.small, b.hash.small);
        if (difference > rule.near_difference) continue;
        const Likeness likeness = likeness_of(a, b);
        const bool near = likeness == Likeness::near;
        ++(near ? counted.near_pairs : counted.identical_pairs);
        const Found what = near ? Found::near : Found::identical;
        found[row] = std::max(found[row], what);
        if (itself) found[i] = std::max(found[i], what);
        nearest.add({likeness, difference, at, row, i});
      }
    }
    count(found, counted);
    for (std::size_t row = 0; row < own.size(); ++row) {
      found_anywhere[row] = std::max(found_anywhere[row], found[row]);
    }
    duplicates.all.compared_with += counted.compared_with;
    duplicates.all.identical_pairs += counted.identical_pairs;
    duplicates.all.near_pairs += counted.near_pairs;
    duplicates.by_flow.push_back(counted);
  }
  count(found_anywhere, duplicates.all);
  duplicates.pairs = nearest.sorted();
  return duplicates;
}

}  // namespace seam::stages
