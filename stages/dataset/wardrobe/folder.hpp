/// Keeps the built-in data set on disk, in the In-Shop layout:
///
///     ROOT/wardrobe.txt                      the options of the drawing
///     ROOT/img/WOMEN/Dresses/id_00000001/01_1_front.jpg
///     ROOT/Eval/list_eval_partition.txt
///
/// The same options give the same bytes with any number of threads. A wardrobe is drawn into a
/// folder ROOT.part-N, which is renamed in the end, so that the root appears complete or not at
/// all.
#pragma once

#include <functional>

#include "stages/dataset/inshop_list.hpp"

namespace seam::stages {

struct WardrobeOptions {
  int items = 168;          ///< number of garments, distributed over fourteen categories
  int colours = 3;          ///< colourways of each
  int views = 6;            ///< photographs of each colourway
  int size = 64;            ///< side of the images, pixels
  double test_share = 0.5;  ///< fraction of the items in query and gallery instead of train
  std::uint64_t seed = 7;
};

/// One image of a wardrobe. Numbers count from 0.
struct WardrobeImage {
  int item = 0;
  int colour = 0;
  int view = 0;
  Split split = Split::train;
  std::string path;  ///< relative to the root
};

/// Every image of a wardrobe, in the order of its list. Train items are selected at random; the
/// other items show their first colourways (rounded down half of them) as queries and the rest in
/// the gallery, so that colour does not find them. Items of one colourway are divided by view.
/// Throws seam::Error (configuration) if a tested item would have one image.
[[nodiscard]] std::vector<WardrobeImage> plan_wardrobe(const WardrobeOptions& options);

/// Called with the number of images done and in all; may throw to stop.
using WardrobeProgress = std::function<void(std::int64_t done, std::int64_t total)>;

enum class WardrobeOutcome : std::uint8_t { reused, drawn };

/// Makes sure that `root` holds the wardrobe with these options: reuses an existing one, or draws
/// it into a folder that is new or empty. If several processes do so at once, each draws, and the
/// first that is done provides the folder. Throws seam::Error if `root` holds anything else, such
/// as a wardrobe with different options or without some of its images, or cannot be written.
WardrobeOutcome provide_wardrobe(const std::filesystem::path& root, const WardrobeOptions& options,
                                 int threads = 1, const WardrobeProgress& progress = {});

}  // namespace seam::stages
