/// Serves a list of pictures, a packet a row: what data sets of any layout share.
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
  std::string name;            ///< as the list has it, for messages
  std::string item;
  std::int64_t category = 0;
  std::int64_t index = 0;  ///< rising
  std::int64_t line = 0;   ///< of the list; 0 where there are no lines
};

/// What a stage's page says of the fields where there is more to say than their names do.
struct PictureFieldDocs {
  std::string item = {};
  std::string category = {};
  std::string index = "position in the whole list, from 0";
};

class PictureRows final : public ServedItems {
 public:
  /// Declares `limit`, the folds' parameters, and the fields path, item, category and index; offers
  /// ServedItems.
  void declare(Declaration& declaration, const PictureFieldDocs& docs = {});
  /// Takes the rows of a split, in order, and logs what is cut away. `list` and `images`, what the
  /// rows are called, are for messages.
  void open(std::vector<PictureRow> rows, const std::string& list, const Context& context,
            const std::string& images = "images");
  /// How many of the rows that open() was given are served, on all ranks together.
  [[nodiscard]] std::int64_t served() const { return static_cast<std::int64_t>(served_.size()); }
  /// Back to the first row.
  void begin() { next_ = 0; }
  /// Adds further fields to the packet of a row, given its position among the rows.
  using Addition = std::function<void(Packet& packet, std::size_t row)>;
  /// Emits the next picture of this rank.
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
