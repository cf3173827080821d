#include "stages/loss/class_labels.hpp"

#include <limits>
#include <string>

#include "stages/loss/item_labels.hpp"

namespace seam::stages {

void ClassLabels::declare(Declaration& d) {
  d.parameter("labels", of_,
              "what the classes are: categories, or items; the training list must not have more "
              "items than there are logits",
              {{"category", Of::category}, {"item", Of::item}});
  if (are_items()) {
    d.needs(field::items).doc("the classes");
    d.keeps_state();
  } else {
    d.needs(field::categories).doc("the labels, from 0");
  }
  d.accepts(field::origins).doc("to name an image whose label is rejected");
}

void ClassLabels::reset() {
  // Their maximum number is known from the first batch on.
  items_ = ItemProxies(std::numeric_limits<std::int64_t>::max(),
                       {"class", "classes", "the model's `classes`"});
}

std::vector<std::int64_t> ClassLabels::of(const Packet& packet, std::int64_t classes,
                                          const Context& context, LabelWords words) {
  const std::vector<Origin>* const origins =
      packet.has(field::origins) ? &packet.get(field::origins) : nullptr;
  std::vector<std::int64_t> labels;
  if (are_items()) {
    const std::vector<std::string>& items = packet.get(field::items);
    check_items(items, origins);
    items_.set_number(classes);
    labels = items_.number_of(
        items, context.training() ? ItemProxies::New::join : ItemProxies::New::refused);
  } else {
    labels = packet.get(field::categories);
    check_labels(labels, classes, origins, words);
  }
  if (labels.empty()) throw Error("the batch has no rows, and a mean needs one");
  return labels;
}

void ClassLabels::save(Archive& archive) const {
  if (are_items()) items_.save(archive);
}

void ClassLabels::load(const Archive& archive) {
  if (are_items()) items_.load(archive);
}

}  // namespace seam::stages
