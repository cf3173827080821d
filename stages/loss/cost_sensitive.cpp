#include "stages/loss/cost_sensitive.hpp"

#include <torch/types.h>

#include <string>

#include "stages/loss/cost_sensitive_loss.hpp"

namespace seam::stages {

void CostSensitive::declare(Declaration& d) {
  d.doc(
      "Cost-sensitive regularisation (Galdran et al. 2020): the mean cost of a network's mistakes "
      "under the softmax of its logits. Used together with loss.cross_entropy; the paper's λ is "
      "`weight`.");
  d.parameter(
      "costs", kind_,
      "cost of confusing two classes: 1 (nominal), less within a super-class (super_class), the "
      "normalised squared distance of ordered classes (ordinal), or read from a file (file)",
      {{"nominal", Costs::nominal},
       {"super_class", Costs::super_class},
       {"ordinal", Costs::ordinal},
       {"file", Costs::file}});
  d.parameter("super_classes", super_classes_, "super_class: the super-class of each class")
      .range(0, 1e9);
  d.parameter("within", within_, "super_class: the cost within a super-class; default: 0.5")
      .range(0, 1);
  d.parameter("file", file_, "file: CSV with one line per class, which has the cost of every class")
      .must_exist();
  d.needs(field::logits);
  labels_.declare(d);
  d.headline("loss", Better::lower);
  declare_loss(d);
}

void CostSensitive::check_parameters() const {
  const auto wrong = [](const std::string& text) { throw Error(text, Fault::configuration); };
  if (labels_.are_items() && kind_ != Costs::nominal) {
    wrong(
        "`labels = \"item\"` numbers items as they appear, so only `costs = \"nominal\"` is "
        "meaningful; choose it, or `labels = \"category\"`");
  }
  if (kind_ == Costs::super_class && super_classes_.empty()) {
    wrong("`costs = \"super_class\"` needs `super_classes`, a number for each class");
  }
  if (kind_ == Costs::file && !file_) wrong("`costs = \"file\"` needs `file`, a CSV file of costs");
  const auto unread = [&](const char* parameter, const char* kind) {
    wrong("`" + std::string(parameter) + "` has no effect without `costs = \"" + kind +
          "\"`; remove it, or choose that");
  };
  if (kind_ != Costs::super_class && !super_classes_.empty())
    unread("super_classes", "super_class");
  if (kind_ != Costs::super_class && within_) unread("within", "super_class");
  if (kind_ != Costs::file && file_) unread("file", "file");
}

void CostSensitive::open(Context& context) {
  check_parameters();
  labels_.reset();
  if (kind_ == Costs::super_class) {
    table_ = torch::tensor(super_classes_, torch::kInt64).to(device_of(context));
  } else if (kind_ == Costs::file) {
    table_ = read_costs(*file_).to(torch::kFloat32).to(device_of(context));
  }
}

Tensor CostSensitive::costs(const Tensor& logits, const Tensor& labels) const {
  constexpr double usual = 0.5;
  switch (kind_) {
    case Costs::nominal:
      return nominal_costs(logits, labels);
    case Costs::super_class:
      return super_class_costs(logits, labels, table_, within_.value_or(usual));
    case Costs::ordinal:
      return ordinal_costs(logits, labels);
    case Costs::file:
      return table_.index_select(0, labels);
  }
  throw Error("unknown costs", Fault::internal);
}

Tensor CostSensitive::compute(const Packet& packet, Context& context) {
  const Tensor& logits = packet.get(field::logits);
  if (table_.defined() && table_.size(0) != logits.size(1)) {
    throw Error("there are costs for " + std::to_string(table_.size(0)) +
                    " classes, but logits for " + std::to_string(logits.size(1)) + "; change `" +
                    (kind_ == Costs::file ? "file" : "super_classes") +
                    "`, or the model's `classes`",
                Fault::configuration);
  }
  const Tensor labels =
      torch::tensor(labels_.of(packet, logits.size(1), context, {"the cost", "logits"}),
                    torch::kInt64)
          .to(logits.device());
  return cost_sensitive_loss(logits, costs(logits, labels));
}

void CostSensitive::batch_accepted() {
  Loss::batch_accepted();
  labels_.accept();
}

}  // namespace seam::stages
