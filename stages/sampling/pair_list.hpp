/// Pairs in a file, so that others can evaluate on exactly the same pairs:
///
///     pair,same,first,second,first_item,second_item
///     0,1,s3/2.pgm,s3/7.pgm,s3,s3
///     1,0,s3/2.pgm,s11/1.pgm,s3,s11
///
/// Images have their names in the data set. For reading, `same`, `first` and `second` suffice, in
/// any order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

/// Rows of the data set.
struct Pair {
  std::int64_t first = 0;
  std::int64_t second = 0;
  bool same = false;  ///< of one item

  friend bool operator==(const Pair&, const Pair&) = default;
};

/// An image of the data set, by its name in lists.
struct ListedImage {
  std::string name;
  std::string item;
};

/// The file's text. `images[row]` is the image of a row.
[[nodiscard]] std::string pair_list_text(std::span<const Pair> pairs,
                                         std::span<const ListedImage> images);

/// Reads such a text; `file` is its name in messages. Throws seam::Error with file and line if it
/// is malformed, contradicts the images or lists a pair twice; also if two images share a name, or
/// all pairs are of one kind.
[[nodiscard]] std::vector<Pair> parse_pair_list(std::string_view text, const std::string& file,
                                                std::span<const ListedImage> images);

}  // namespace seam::stages
