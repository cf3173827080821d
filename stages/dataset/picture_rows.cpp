#include "stages/dataset/picture_rows.hpp"

#include <algorithm>
#include <utility>

namespace seam::stages {

void PictureRows::declare(Declaration& declaration, const PictureFieldDocs& docs) {
  declaration.parameter("limit", limit_, "serve only the first N images, for quick runs")
      .at_least(1);
  folds_.declare(declaration);
  declaration.provides(field::path).doc("the image's file");
  declaration.provides(field::item).doc(docs.item);
  declaration.provides(field::category).doc(docs.category);
  declaration.provides(field::index).doc(docs.index);
  declaration.offers<ServedItems>(*this);
}

void PictureRows::open(std::vector<PictureRow> rows, const std::string& list,
                       const Context& context, const std::string& images) {
  rows_ = std::move(rows);
  list_ = std::make_shared<const std::string>(list);
  next_ = 0;
  std::vector<std::string> items;
  items.reserve(rows_.size());
  for (const PictureRow& row : rows_) items.push_back(row.item);
  served_ = folds_.chosen(items);
  if (const std::string part = folds_.text(); !part.empty()) {
    context.info("serving " + std::to_string(served_.size()) + " of " +
                 std::to_string(rows_.size()) + " " + images + ", " + part);
  }
  if (limit_ && *limit_ < static_cast<std::int64_t>(served_.size())) {
    context.warn("serving " + std::to_string(*limit_) + " of " + std::to_string(served_.size()) +
                 " " + images + ", because of 'limit'");
    served_.resize(static_cast<std::size_t>(*limit_));
  }
  items_.clear();
  for (const std::size_t row : served_) items_.insert(rows_[row].item);
}

More PictureRows::produce(Emitter& emitter, const Context& context, const Addition& add) {
  const auto world = static_cast<std::size_t>(std::max(context.world(), 1));
  const std::size_t at = next_ * world + static_cast<std::size_t>(context.rank());
  if (at >= served_.size()) return More::no;
  ++next_;
  const PictureRow& row = rows_[served_[at]];
  Packet packet(Origin{list_, row.line, row.name});
  packet.set(field::path, row.path);
  packet.set(field::item, row.item);
  packet.set(field::category, row.category);
  packet.set(field::index, row.index);
  if (add) add(packet, served_[at]);
  emitter.emit(std::move(packet));
  return at + world < served_.size() ? More::yes : More::no;
}

}  // namespace seam::stages
