/// The source `dataset.att`: the AT&T (ORL) faces, ten grey images of each of forty people.
///
///     ROOT/s1/1.pgm     item "s1", category 0, index 0
///     ROOT/s1/10.pgm    item "s1", category 0, index 9
///     ROOT/s40/10.pgm   item "s40", category 39, index 399
///
/// Samaria, Harter, "Parameterisation of a stochastic model for human face identification", 1994.
#pragma once

#include "stages/dataset/listed_pictures.hpp"

namespace seam::stages {

class Att final : public ListedPictures {
 public:
  static constexpr std::string_view name = "dataset.att";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  std::filesystem::path root_;
  std::int64_t subject_count_ = 40;
  std::int64_t images_per_subject_ = 10;
  std::vector<std::int64_t> pictures_;
};

}  // namespace seam::stages
