#include "stages/loss/cross_entropy.hpp"

#include <torch/torch.h>

#include <string>

namespace seam::stages {

void CrossEntropy::declare(Declaration& d) {
  d.doc(
      "Cross entropy between the softmax of a network's logits and the category of each picture: "
      "the mean over a batch.");
  d.parameter("from", from_, "the field that is taken for logits",
              {{"logits", From::logits}, {"class_lengths", From::class_lengths}});
  d.parameter("label_smoothing", smoothing_, "share of the target that goes to all classes alike")
      .range(0, 0.999);
  d.parameter(
       "temperature", temperature_,
       "divides the logits; lengths of capsules are 0 to 1 and need a small one, such as 0.1")
      .range(1e-6, 1e6);
  d.needs(field());
  d.needs(field::categories).doc("the labels, from 0");
  d.accepts(field::origins).doc("to name a picture whose label is refused");
  d.headline("loss", Better::lower);
  declare_loss(d);
}

const Field<Tensor>& CrossEntropy::field() const {
  return from_ == From::logits ? field::logits : field::class_lengths;
}

Tensor CrossEntropy::compute(const Packet& packet, Context& /*context*/) {
  const Tensor& logits = packet.get(field());
  const std::vector<std::int64_t>& categories = packet.get(field::categories);
  if (categories.empty()) throw Error("the batch has no rows, and a mean needs one");
  check_labels(categories, logits.size(1),
               packet.has(field::origins) ? &packet.get(field::origins) : nullptr);
  const Tensor labels = torch::tensor(categories, torch::kInt64).to(logits.device());
  measure("accuracy", (logits.detach().argmax(1) == labels).to(torch::kFloat32).mean());
  return cross_entropy(temperature_ == 1 ? logits : logits / temperature_, labels, smoothing_);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing) {
  namespace F = torch::nn::functional;
  return F::cross_entropy(logits, labels, F::CrossEntropyFuncOptions().label_smoothing(smoothing));
}

void check_labels(const std::vector<std::int64_t>& labels, std::int64_t classes,
                  const std::vector<Origin>* origins, LabelWords words) {
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::int64_t label = labels[row];
    if (label >= 0 && label < classes) continue;
    const std::string who =
        origins != nullptr ? (*origins)[row].text() : "row " + std::to_string(row);
    if (label < 0) {
      throw Error(who + " has no category (" + std::to_string(label) + "), and " +
                  std::string(words.loss) + " needs one for each picture");
    }
    throw Error(who + " is of category " + std::to_string(label) + ", but the " +
                std::string(words.scores) + " are of " + std::to_string(classes) +
                " classes, 0 to " + std::to_string(classes - 1) + "; the model needs more classes");
  }
}

}  // namespace seam::stages
