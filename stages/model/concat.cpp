#include "stages/model/concat.hpp"

#include <torch/nn/init.h>
#include <torch/types.h>
#include <seam/contract.hpp>
#include <seam/error.hpp>

#include "stages/nn/embedding.hpp"

namespace seam::nn {
namespace {

Tensor normalised(BatchNorm2d& norm, const Tensor& rows) {
  return norm(rows.view({rows.size(0), -1, 1, 1})).flatten(1);
}

Linear dense_layer(std::int64_t in, std::int64_t out) {
  Linear layer(in, out);
  torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanIn, torch::kReLU);
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

}  // namespace

ConcatModuleImpl::ConcatModuleImpl(const ConcatModuleOptions& options) : options_(options) {
  const bool together = options_.classified == Classified::together;
  if ((together && options_.width < 1) || options_.capsules < 1 || options_.capsule_size < 1 ||
      options_.bottleneck < 1 || options_.classes < 1) {
    throw Error(
        "`width`, `capsules`, `capsule_size`, `bottleneck` and `classes` must be at least 1",
        Fault::configuration);
  }
  const std::int64_t in = together ? options_.length() : options_.capsules * options_.capsule_size;
  bn1_ = register_module("bn1", BatchNorm2d(in));
  fc1_ = register_module("fc1", dense_layer(in, options_.bottleneck));
  bn2_ = register_module("bn2", BatchNorm2d(options_.bottleneck));
  fc2_ = register_module("fc2", dense_layer(options_.bottleneck, options_.classes));
}

ConcatModuleOutput ConcatModuleImpl::forward(const Tensor& descriptors, const Tensor& capsules) {
  const bool together = options_.classified == Classified::together;
  if (capsules.dim() != 3 || capsules.size(1) != options_.capsules ||
      capsules.size(2) != options_.capsule_size ||
      (together && (descriptors.dim() != 2 || descriptors.size(0) != capsules.size(0) ||
                    descriptors.size(1) != options_.width))) {
    throw Error(
        c10::str("the module needs capsules [N,", options_.capsules, ",", options_.capsule_size,
                 "]", together ? c10::str(" and descriptors [N,", options_.width, "]") : "",
                 ", not ", capsules.sizes(),
                 together ? c10::str(" and ", descriptors.sizes()) : ""),
        Fault::configuration);
  }
  ConcatModuleOutput output;
  Tensor all = capsules.flatten(1);
  if (together) {
    all = torch::cat({descriptors, all}, 1);
    output.embedding = unit(all);
  }
  output.logits = fc2_(normalised(bn2_, fc1_(normalised(bn1_, all))));
  return output;
}

}  // namespace seam::nn

namespace seam::stages {

void Concat::declare(Declaration& d) {
  d.doc(
      "The concat module of Durmuş et al. (2023): concatenates descriptors and class capsules. The "
      "result, scaled to unit length, is the embedding; it is also classified through batch "
      "normalisation and dense layers.");
  d.parameter("type", type_,
              "the paper's architecture: a classifies only the capsules, and the embedding is the "
              "descriptors; b and d use capsules made from the descriptors, c from the feature map",
              {{"a", Type::a}, {"b", Type::b}, {"c", Type::c}, {"d", Type::d}});
  d.parameter("width", options_.width, "b, c, d: length of the embedding of the descriptors")
      .range(0, 1048576)
      .from_field();
  d.parameter("capsules", options_.capsules, "class capsules per image")
      .range(1, 100000)
      .from_field();
  d.parameter("capsule_size", options_.capsule_size, "size of a class capsule")
      .range(1, 1024)
      .from_field();
  d.parameter("bottleneck", options_.bottleneck, "width between the two dense layers")
      .range(1, 65536);
  d.parameter("classes", options_.classes, "classes of the classifier")
      .range(1, 1000000)
      .required();
  d.needs(field::capsules)
      .contract("f32[N," + dimension_of(options_.capsules, "capsules") + "," +
                dimension_of(options_.capsule_size, "capsule_size") + "]");
  if (together()) {
    const bool known = options_.width > 0 && options_.capsules > 0 && options_.capsule_size > 0;
    d.needs(field::embedding)
        .contract("f32[N," + dimension_of(options_.width, "width") + "]")
        .doc("the descriptors");
    d.provides(field::embedding)
        .contract("f32[N," + dimension_of(known ? options_.length() : 0, "E") + "]")
        .doc("descriptors and capsules, of unit length");
  }
  d.provides(field::logits).contract("f32[N," + dimension_of(options_.classes, "K") + "]");
  declare_classifier(d);
  d.upstream(capsules_from_, "source of the capsules, which must match `type`");
}

void Concat::open(Context& context) {
  if (type_ != Type::a) require_capsules_of_type(context);
  ClassifierStage::open(context);
}

void Concat::require_capsules_of_type(const Context& context) const {
  const MakesCapsules* last = nullptr;  // whose capsules arrive
  for (const MakesCapsules* maker : capsules_from_) last = maker;
  if (last == nullptr) {
    context.warn(
        "the capsules do not come from model.capsule_module or model.capsules, so it is unknown "
        "whether they match `type`");
    return;
  }
  const bool of_map = last->made_of() == MakesCapsules::Source::feature_map;
  if (of_map != (type_ == Type::c)) {
    throw Error(of_map ? "the capsules are made from the feature map, as in `type = \"c\"`; set "
                         "that, or use model.capsule_module instead of model.capsules"
                       : "the capsules are made from the descriptors, as in `type = \"d\"` (or "
                         "\"b\"); set that, or use model.capsules instead of model.capsule_module",
                Fault::configuration);
  }
}

nn::ConcatModule Concat::make() const {
  if (together() && options_.width == 0) {
    throw Error("set `width` to the length of the embedding of the descriptors",
                Fault::configuration);
  }
  if (!together() && options_.width > 0) {
    throw Error("`width` has no effect with `type = \"a\"`; remove it", Fault::configuration);
  }
  nn::ConcatModuleOptions all = options_;
  all.classified = together() ? nn::Classified::together : nn::Classified::capsules;
  return nn::ConcatModule(all);
}

void Concat::forward(nn::ConcatModule& net, Packet& packet, Context& /*context*/) {
  const nn::ConcatModuleOutput output = net->forward(
      together() ? packet.get(field::embedding) : Tensor(), packet.get(field::capsules));
  if (output.embedding.defined()) packet.set(field::embedding, output.embedding);
  packet.set(field::logits, output.logits);
}

}  // namespace seam::stages
