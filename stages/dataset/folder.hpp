/// The source `dataset.folder`: the pictures of a folder, with the folders in it as classes, as
/// torchvision's ImageFolder reads them, or a flat folder of pictures that nobody has labelled.
///
///     ROOT/boots/a.jpg       item "boots", category 0
///     ROOT/boots/old/b.jpg   item "boots", category 0
///     ROOT/hats/a.jpg        item "hats", category 1
///
///     ROOT/a.jpg             item "a.jpg", category 0
///     ROOT/b.jpg             item "b.jpg", category 0
#pragma once

#include <cstdint>
#include <filesystem>
#include <seam/category_names.hpp>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/picture_rows.hpp"

namespace seam::stages {

/// What makes two pictures of a folder the same item.
enum class FolderItems : std::uint8_t {
  automatic,  ///< by_class where all pictures lie in folders of the root, by_picture where none
              ///< does
  by_class,   ///< the folder of the root that they lie in
  by_folder,  ///< the folder that they lie in, however deep
  by_picture  ///< nothing: each picture is an item
};

class Folder final : public Source, public CategoryNames {
 public:
  static constexpr std::string_view name = "dataset.folder";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  [[nodiscard]] const std::vector<std::string>& category_names() const override {
    return vocabulary_;
  }

 private:
  std::filesystem::path root_;
  bool recursive_ = true;
  FolderItems items_ = FolderItems::automatic;
  std::vector<std::string> categories_;
  std::vector<std::string> vocabulary_;  // categories_, or what was found
  /// What image.decode reads, by the names that such files usually have.
  std::vector<std::string> extensions_{"jpg", "jpeg", "png", "webp", "tif", "tiff", "bmp", "gif",
                                       "pbm", "pgm",  "ppm", "pnm",  "pam", "ras",  "jp2"};
  PictureRows rows_;
};

}  // namespace seam::stages
