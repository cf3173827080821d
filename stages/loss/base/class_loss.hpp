/// Base class of losses over logits whose classes are categories, or items of the training list.
///
///     categories [N] ──┐
///     items [N] ───────┴─► labels [N], from 0
///
/// The items of the data sets before the loss are numbered in order of their names, other items in
/// order of first appearance. A checkpoint keeps the numbers.
#pragma once

#include <seam/loss.hpp>
#include <seam/reference.hpp>

#include "stages/class_vocabulary.hpp"
#include "stages/loss/base/item_proxies.hpp"
#include "stages/served_items.hpp"

namespace seam::stages {

/// Words for messages: the loss that needs labels, and the values that exist once per class.
struct LabelWords {
  std::string_view loss = "cross entropy";
  std::string_view scores = "logits";
};

class ClassLoss : public Loss {
 public:
  void open(Context& context) override;
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;
  void batch_accepted() override;

 protected:
  /// Declares `labels`, the fields it needs, with the `scores` of the classes, and what every loss
  /// declares; call it at the end.
  void declare_class_loss(Declaration& d, const Field<Tensor>& scores);
  /// The same for a loss whose classes are always categories.
  void declare_category_loss(Declaration& d, const Field<Tensor>& scores);
  /// The labels of a batch with `logits` [N,K], i64[N] on their device. Throws seam::Error naming
  /// an image without a label, and for data sets that number the categories in different ways.
  [[nodiscard]] Tensor labels_of(const Packet& packet, const Tensor& logits, const Context& context,
                                 LabelWords words = {});

  [[nodiscard]] bool labels_are_items() const { return labels_ == ClassLabels::item; }

 private:
  ClassLabels labels_ = ClassLabels::category;
  std::string_view scores_;  // the field's name
  Refs<ServedItems> served_;
  Refs<ClassVocabulary> models_;
  CategoryNumbering numbering_;
  bool is_one_numbering_ = false;
  ItemProxies items_;
};

}  // namespace seam::stages
