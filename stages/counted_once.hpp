/// The images that an evaluation has counted, so that none counts twice: a flow that samples
/// groups, as for training, emits some images often and others never.
#pragma once

#include <seam/packet.hpp>
#include <string>
#include <unordered_set>

#include "stages/picture_paths.hpp"

namespace seam::stages {

class CountedOnce {
 public:
  void clear() { seen_.clear(); }

  /// Throws seam::Error (configuration) naming an image of the batch that was counted before. An
  /// image is identified by its file, or by its position in its list, if it has either.
  void add(const Packet& batch, std::size_t rows) {
    const std::vector<std::string> files = picture_files(batch, rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::string picture = files[row].empty() ? place_in_list(batch, row) : files[row];
      if (picture.empty() || seen_.insert(picture).second) continue;
      throw Error(row_name(batch, row) +
                      " occurs twice in one evaluation, in which each image counts once; "
                      "remove samplers such as sampling.triplets from its flow, and read lists "
                      "that share no image",
                  Fault::configuration);
    }
  }

 private:
  std::unordered_set<std::string> seen_;
};

}  // namespace seam::stages
