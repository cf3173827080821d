/// The source `dataset.folder`: the images in a folder, with subfolders as classes, as
/// torchvision's ImageFolder reads them, or a flat folder of unlabelled images.
///
///     ROOT/boots/a.jpg       item "boots", category 0
///     ROOT/boots/old/b.jpg   item "boots", category 0
///     ROOT/hats/a.jpg        item "hats", category 1
///
///     ROOT/a.jpg             item "a.jpg", category 0
///     ROOT/b.jpg             item "b.jpg", category 0
#pragma once

#include "stages/dataset/listed_pictures.hpp"
#include "stages/dataset/picture_extensions.hpp"

namespace seam::stages {

/// When two images of a folder are the same item.
enum class FolderItems : std::uint8_t {
  automatic,  ///< by_class if all images are in folders of the root, by_picture if none is
  by_class,   ///< same top-level folder
  by_folder,  ///< same innermost folder
  by_picture  ///< never: each image is an item
};

class Folder final : public ListedPictures {
 public:
  static constexpr std::string_view name = "dataset.folder";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  std::filesystem::path root_;
  bool recursive_ = true;
  FolderItems items_ = FolderItems::automatic;
  std::vector<std::string> categories_;
  std::vector<std::string> extensions_ = usual_extensions();
};

}  // namespace seam::stages
