/// The source `dataset.tar`: images in tar files, in the layout of WebDataset.
///
///     tar ──► files, outputs of commands ──► samples with labels ──► rows
///
/// Only headers and labels are read before the run; images are read when they are decoded.
#pragma once

#include "stages/dataset/listed_pictures.hpp"
#include "stages/file_piece.hpp"

namespace seam::stages {

class Tar final : public ListedPictures {
 public:
  static constexpr std::string_view name = "dataset.tar";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::shared_ptr<const OpenFile> opened(const std::string& name,
                                                       const Context& context);
  void add_fields(Packet& packet, std::size_t row) const override;

  std::vector<std::string> tar_;
  std::string item_ = "path";
  std::string category_;

  std::map<std::string, std::shared_ptr<const OpenFile>> outputs_;  // of commands
  std::vector<FilePiece> pieces_;                                   // of the rows
};

}  // namespace seam::stages
