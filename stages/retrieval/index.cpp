#include "stages/retrieval/index.hpp"

#include <algorithm>

namespace seam::stages {

void declare_masks(Declaration& d, std::vector<Mask>& masks) {
  d.parameter(
      "masks", masks,
      "which class capsule of each image is compared: all, the predicted category's, the true "
      "category's (reads labels); every one listed is evaluated",
      {{"none", Mask::none}, {"predicted", Mask::predicted}, {"ground_truth", Mask::ground_truth}});
  const auto wanted = [&](Mask mask) {
    return std::find(masks.begin(), masks.end(), mask) != masks.end();
  };
  if (wanted(Mask::none)) d.needs(field::embedding);
  if (wanted(Mask::predicted) || wanted(Mask::ground_truth)) d.needs(field::capsules);
  if (wanted(Mask::predicted)) d.needs(field::predicted_category);
  if (wanted(Mask::ground_truth)) {
    d.needs(field::categories);
    d.reads_label(field::categories.name);
  } else {
    d.accepts(field::categories);
  }
}

void check_masks(const std::vector<Mask>& masks) {
  if (!masks.empty()) return;
  throw Error("'masks' is empty; name at least one of none, predicted, ground_truth",
              Fault::configuration);
}

Tensor embedding_under(Mask mask, const Packet& packet) {
  if (mask == Mask::none) return packet[field::embedding].detach().to(torch::kCPU);
  const Tensor capsules = packet[field::capsules].detach().to(torch::kCPU);
  const Tensor category = mask == Mask::predicted
                              ? packet[field::predicted_category].to(torch::kCPU)
                              : torch::tensor(packet[field::categories], torch::kInt64);
  const std::int64_t classes = capsules.size(1);
  const Tensor bad = (category < 0).logical_or(category >= classes);
  if (bad.any().item<bool>()) {
    const std::int64_t row = bad.nonzero()[0][0].item<std::int64_t>();
    const auto& origins = packet[field::origins];
    throw Error(origins[static_cast<std::size_t>(row)].text() + " is of category " +
                std::to_string(category[row].item<std::int64_t>()) + "; mask '" + to_string(mask) +
                "' needs one from 0 to " + std::to_string(classes - 1) +
                ", for which the model has a class capsule");
  }
  return masked_embedding(capsules, category);
}

void Index::declare(Declaration& d) {
  d.doc("Keeps the embeddings of a gallery for `retrieval.search`, which refers to it by name.");
  declare_masks(d, masks_);
  d.parameter(
      "metric", metric_,
      "how embeddings are compared; masked ones of unit length by cosine, which ranks them alike "
      "and sees the ties between categories",
      {{"squared_euclidean", Metric::squared_euclidean}, {"cosine", Metric::cosine}});
  d.needs(field::items);
  d.needs(field::indices).doc("the row id by which ties are ranked");
  d.needs(field::origins);
  d.offers<GalleryIndex>(gallery_);
  d.keeps_state();
}

void Index::open(Context& /*context*/) {
  check_masks(masks_);
  gallery_.expect(masks_);
}

void Index::begin(Context& context) {
  gallery_.clear();
  gallery_.set_trainings(context.trainings());
}

void Index::process(const Packet& packet, Context& /*context*/) {
  const auto& items = packet[field::items];
  const auto& indices = packet[field::indices];
  const auto& origins = packet[field::origins];
  const bool categories = packet.has(field::categories);
  GalleryBatch batch;
  for (std::size_t i = 0; i < items.size(); ++i) {
    batch.rows.push_back(
        {indices[i], items[i], categories ? packet[field::categories][i] : -1, origins[i]});
  }
  for (const Mask mask : masks_) batch.vectors[mask] = embedding_under(mask, packet);
  gallery_.add(batch);
}

void Index::end(Context& context) {
  gallery_.build(metric_);
  context.info("gallery of " + std::to_string(gallery_.size()) + " images of " +
               std::to_string(gallery_.items()) + " items");
}

void Index::save(Archive& archive) const {
  gallery_.save(archive);
}

void Index::load(const Archive& archive) {
  gallery_.load(archive, metric_);
}

}  // namespace seam::stages
