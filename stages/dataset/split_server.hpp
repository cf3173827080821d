/// Serves one split of an In-Shop list, a packet an image: what all data sets in that layout share.
///
///     list ──► rows of the split ──► those of the fold ──► up to `limit` ──► those of this rank
///
/// Fields: path (under the root), item ("id_00000002"), category (index in the sorted vocabulary of
/// all splits), index (position in the split before folds cut
/// it, the same for any number of ranks). The origin is the
/// list and the row's line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <seam/stage.hpp>
#include <string>
#include <vector>

#include "stages/dataset/folds.hpp"
#include "stages/dataset/inshop_list.hpp"

namespace seam::stages {

class SplitServer {
 public:
  /// Declares `split`, `limit`, the folds' parameters and the fields.
  void declare(Declaration& declaration);
  /// Reads the list and logs what is worth knowing about it. Throws seam::Error as
  /// read_inshop_list does, where the split is empty, or where its first image is not under `root`.
  void open(const std::filesystem::path& root, const std::filesystem::path& list,
            const ExpectedCounts& expected, const Context& context);
  /// Back to the first image.
  void begin() { next_ = 0; }
  /// Emits the next image of this rank.
  More produce(Emitter& emitter, const Context& context);

 private:
  Split split_ = Split::train;
  std::optional<std::int64_t> limit_;
  std::filesystem::path root_;
  std::shared_ptr<const std::string> list_name_;
  Folds folds_;
  std::vector<InshopRow> rows_;
  std::vector<std::size_t> served_;  // of the rows
  std::size_t next_ = 0;
};

}  // namespace seam::stages
