/// Serves a list of images, one packet per row: the common part of all data set layouts.
///
///     rows ──► those of the fold ──► up to `limit` ──► those of this rank ──► packets
///
/// A row keeps its index whatever part is served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <seam/stage.hpp>
#include <string>
#include <vector>

#include "stages/dataset/folds.hpp"
#include "stages/served_items.hpp"

namespace seam::stages {

struct PictureRow {
  std::filesystem::path path;  ///< the file to read
  std::string name;            ///< as in the list, for messages
  std::string item;
  std::int64_t category = 0;
  std::int64_t index = 0;  ///< rising
  std::int64_t line = 0;   ///< of the list; 0 if it has no lines
};

/// Descriptions of the fields on a stage's page, if their names do not suffice.
struct PictureFieldDocs {
  std::string item = {};
  std::string category = {};
  std::string index = "position in the whole list, from 0";
};

class PictureRows final : public ServedItems {
 public:
  /// Declares `limit`, the folds' parameters, and the fields path, item, category and index;
  /// provides ServedItems.
  void declare(Declaration& declaration, const PictureFieldDocs& docs = {});
  /// Receives the rows of a split, in order, and logs which part of them is served. `list` and
  /// `images` (the noun for the rows) are for messages.
  void open(std::vector<PictureRow> rows, const std::string& list, const Context& context,
            const std::string& images = "images");
  /// Number of rows that are served, on all ranks together.
  [[nodiscard]] std::int64_t served() const { return static_cast<std::int64_t>(served_.size()); }
  /// Returns to the first row.
  void begin() { next_ = 0; }
  /// Adds fields to the packet of a row, given its position among the rows.
  using Addition = std::function<void(Packet& packet, std::size_t row)>;
  /// Emits the next image of this rank.
  More produce(Emitter& emitter, const Context& context, const Addition& add = {});
  [[nodiscard]] const Names& served_items() const override { return items_; }

 private:
  Folds folds_;
  std::optional<std::int64_t> limit_;
  std::shared_ptr<const std::string> list_;
  std::vector<PictureRow> rows_;
  std::vector<std::size_t> served_;
  Names items_;  // of those
  std::size_t next_ = 0;
};

}  // namespace seam::stages
