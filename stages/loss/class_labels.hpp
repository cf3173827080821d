/// The classes of a loss over logits: categories, or items of the training list.
///
///     categories [N] ──┐
///     items [N] ───────┴─► labels [N], from 0
///
/// Items are numbered in order of first appearance, which a checkpoint keeps.
#pragma once

#include <seam/loss.hpp>

#include <cstdint>
#include <vector>

#include "stages/loss/cross_entropy_loss.hpp"
#include "stages/loss/item_proxies.hpp"

namespace seam::stages {

class ClassLabels {
 public:
  enum class Of : std::uint8_t { category, item };

  /// Declares `labels` and the fields it needs.
  void declare(Declaration& d);
  /// At the beginning of a run.
  void reset();
  /// The labels of a batch whose logits have `classes` classes. Throws seam::Error naming an image
  /// without a label.
  [[nodiscard]] std::vector<std::int64_t> of(const Packet& packet, std::int64_t classes,
                                             const Context& context, LabelWords words = {});
  /// Accepts the batch of the last call: new items keep their numbers.
  void accept() { items_.accept(); }
  void save(Archive& archive) const;
  void load(const Archive& archive);

  [[nodiscard]] bool are_items() const { return of_ == Of::item; }

 private:
  Of of_ = Of::category;
  ItemProxies items_;
};

}  // namespace seam::stages
