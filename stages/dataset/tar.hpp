/// The source `dataset.tar`: images in tar files, in the layout of WebDataset.
///
///     tar ──► braces ──► files, outputs of commands ──► samples ──► labels ──► rows
///
/// Only headers and labels are read before the run; images are read when they are decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/listed_pictures.hpp"
#include "stages/dataset/picture_extensions.hpp"
#include "stages/dataset/tar_samples.hpp"

namespace seam::stages {

/// Which member of a sample has its labels.
enum class TarLabels : std::uint8_t {
  automatic,  ///< the one that the first sample has
  none,       ///< each image is an item
  cls,        ///< its text is the category, and the item
  json        ///< fields of an object
};

class Tar final : public ListedPictures {
 public:
  static constexpr std::string_view name = "dataset.tar";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;

 private:
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::shared_ptr<const OpenFile> opened(const std::string& name,
                                                       const Context& context);
  void add_fields(Packet& packet, std::size_t row) const override;

  std::vector<std::string> tar_;
  TarLabels labels_ = TarLabels::automatic;
  std::string item_field_;
  std::string category_field_;
  std::vector<std::string> extensions_ = usual_extensions();

  std::map<std::string, std::shared_ptr<const OpenFile>> outputs_;  // of commands
  std::vector<FilePiece> pieces_;                                   // of the rows
};

}  // namespace seam::stages
