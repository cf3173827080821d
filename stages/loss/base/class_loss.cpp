#include "stages/loss/base/class_loss.hpp"

#include <limits>

#include <torch/types.h>

#include "stages/loss/base/item_labels.hpp"
#include "stages/picture_paths.hpp"

namespace seam::stages {
namespace {

/// The categories of a batch as i64[N] on the device. Throws seam::Error for no rows, and naming
/// the first row whose category is not one of `classes`.
Tensor category_labels(const Packet& packet, std::int64_t classes, const torch::Device& device,
                       LabelWords words) {
  const std::vector<std::int64_t>& labels = packet.get(field::categories);
  const auto rows = static_cast<std::int64_t>(labels.size());
  check_rows(rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t label = labels[static_cast<std::size_t>(row)];
    if (label < 0) {
      throw Error(row_name(packet, row) + " has no category (" + std::to_string(label) + "), but " +
                  std::string(words.loss) + " needs one for each image");
    }
    if (label >= classes) {
      throw Error(row_name(packet, row) + " has category " + std::to_string(label) + ", but the " +
                  std::string(words.scores) + " are for " + std::to_string(classes) +
                  " classes, 0 to " + std::to_string(classes - 1) +
                  "; the model needs more classes");
    }
  }
  return torch::tensor(labels, torch::kInt64).to(device);
}

}  // namespace

void ClassLoss::declare_class_loss(Declaration& d, const Field<Tensor>& scores) {
  d.parameter("labels", labels_,
              "what the classes are: categories, or items; the training list must not have more "
              "items than there are logits",
              {{"category", ClassLabels::category}, {"item", ClassLabels::item}});
  d.upstream(served_, "items, which `labels = \"item\"` numbers in order of their names");
  declare_category_loss(d, scores);
}

void ClassLoss::declare_category_loss(Declaration& d, const Field<Tensor>& scores) {
  scores_ = scores.name;
  d.needs(scores);
  if (labels_are_items()) {
    d.needs(field::items).doc("the classes");
    d.keeps_state();
  } else {
    d.needs(field::categories).doc("the labels, from 0");
  }
  d.accepts(field::origins).doc("to name an image whose label is rejected");
  d.upstream(models_, "the model's classes");
  numbering_.declare(d,
                     "the names of categories: data sets that disagree are rejected if categories "
                     "are the labels");
  d.headline("loss", Better::lower);
  declare_loss(d);
}

void ClassLoss::open(Context& context) {
  numbering_.open();
  is_one_numbering_ = false;
  ClassVocabulary* const model = provider_of(scores_, models_);
  if (model != nullptr && weight() > 0) model->train(scores_, labels_, context.stage());
  // Their maximum number is known from the first batch on.
  items_ = ItemProxies(std::numeric_limits<std::int64_t>::max(),
                       {"class", "classes", "the model's `classes`"});
}

Tensor ClassLoss::labels_of(const Packet& packet, const Tensor& logits, const Context& context,
                            LabelWords words) {
  if (!labels_are_items()) {
    if (!is_one_numbering_) {
      numbering_.require_one();
      numbering_.require_names_or_numbers();
      is_one_numbering_ = true;
    }
    return category_labels(packet, logits.size(1), logits.device(), words);
  }
  check_items(packet);
  items_.set_number(logits.size(1));
  if (context.training() && items_.empty()) items_.assign(names_of(served_));
  const std::vector<std::int64_t> labels =
      items_.number_of(packet.get(field::items),
                       context.training() ? ItemProxies::New::join : ItemProxies::New::refused);
  check_rows(static_cast<std::int64_t>(labels.size()));
  return torch::tensor(labels, torch::kInt64).to(logits.device());
}

void ClassLoss::batch_accepted() {
  Loss::batch_accepted();
  items_.accept();
}

void ClassLoss::save(Archive& archive) const {
  if (labels_are_items()) items_.save(archive);
}

void ClassLoss::load(const Archive& archive) {
  if (labels_are_items()) items_.load(archive);
}

}  // namespace seam::stages
