/// Pairs in a file, so that others can measure on the very same ones:
///
///     pair,same,first,second,first_item,second_item
///     0,1,s3/2.pgm,s3/7.pgm,s3,s3
///     1,0,s3/2.pgm,s11/1.pgm,s3,s11
///
/// Images have the names that their data set gives them. To read, `same`, `first` and `second` are
/// enough, in any order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stages/sampling/pair_sampling.hpp"

namespace seam::stages {

/// An image of the data set, as lists name it.
struct ListedImage {
  std::string name;
  std::string item;
};

/// The file's text. `images[row]` is the image of a row.
[[nodiscard]] std::string pair_list_text(std::span<const Pair> pairs,
                                         std::span<const ListedImage> images);

/// Reads such a text; `file` stands for it in messages. Throws seam::Error naming file and line
/// where a column is missing, `same` is neither 1 nor 0 or not what the images' items say, an image
/// is unknown, or a pair has one image twice or is there twice; and where two images share a name,
/// or all pairs are of one kind.
[[nodiscard]] std::vector<Pair> parse_pair_list(std::string_view text, const std::string& file,
                                                std::span<const ListedImage> images);

}  // namespace seam::stages
