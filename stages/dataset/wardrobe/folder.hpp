/// Keeps the built-in data set on disk, in the In-Shop layout:
///
///     ROOT/wardrobe.txt                      what was drawn; written last
///     ROOT/img/WOMEN/Dresses/id_00000001/01_1_front.jpg
///     ROOT/Eval/list_eval_partition.txt
///
/// The same options give the same bytes on any number of threads. Files appear whole or not at all;
/// a run that was killed is continued by the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stages/dataset/inshop_list.hpp"

namespace seam::stages {

struct WardrobeOptions {
  int items = 168;          ///< garments, over fourteen categories in turn
  int colours = 3;          ///< colourways of each
  int views = 6;            ///< photographs of each colourway
  int size = 64;            ///< side of the images, pixels
  double test_share = 0.5;  ///< of the items that are in query and gallery, not in train
  std::uint64_t seed = 7;

  friend bool operator==(const WardrobeOptions&, const WardrobeOptions&) = default;
};

/// One image of a wardrobe. Numbers count from 0.
struct WardrobeImage {
  int item = 0;
  int colour = 0;
  int view = 0;
  Split split = Split::train;
  std::string path;  ///< relative to the root
};

/// Every image of a wardrobe, in the order of its list. Train items are drawn by lot; the other
/// items show their first colourways (rounded down half of them) as queries and the rest in the
/// gallery, so that colour does not find them. Items of one colourway are divided by view.
/// Throws seam::Error (configuration) where an option is out of range.
[[nodiscard]] std::vector<WardrobeImage> plan_wardrobe(const WardrobeOptions& options);

/// Told how many images are there, of how many; may throw to stop (nothing is lost).
using WardrobeProgress = std::function<void(std::int64_t done, std::int64_t total)>;

enum class WardrobeOutcome : std::uint8_t { reused, drawn };

/// While this is held, nobody draws other garments into the folder.
using WardrobeInUse = std::shared_ptr<void>;

struct ProvidedWardrobe {
  WardrobeOutcome outcome = WardrobeOutcome::reused;
  WardrobeInUse in_use;  ///< null where the folder may only be read
};

/// Makes sure that `root` holds the wardrobe of these options: reuses it where it does, continues
/// it where a drawing was interrupted, replaces it where the options differ. Only files that an
/// earlier drawing made are ever replaced or removed. Processes that ask at the same time wait for
/// each other. Throws seam::Error where `root` holds anything else, cannot be written, or is in use
/// with other options.
[[nodiscard]] ProvidedWardrobe provide_wardrobe(const std::filesystem::path& root,
                                                const WardrobeOptions& options, int threads = 1,
                                                const WardrobeProgress& progress = {});

}  // namespace seam::stages
