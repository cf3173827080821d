#include "stages/retrieval/compared_batch.hpp"

#include <algorithm>

namespace seam::stages {
namespace {

bool wants(const std::vector<Mask>& masks, Mask mask) {
  return std::ranges::find(masks, mask) != masks.end();
}

/// The field's tensor on the CPU, with 16-bit floats converted to float32; throws if it violates
/// its contract otherwise.
Tensor plain(const Packet& packet, const Field<Tensor>& key) {
  Tensor value = packet[key];
  if (value.defined() &&
      (value.scalar_type() == torch::kBFloat16 || value.scalar_type() == torch::kFloat16)) {
    value = value.to(torch::kFloat32);  // exact
  }
  const std::string problem = FieldTraits<Tensor>::violation(value, key.contract);
  if (!problem.empty()) {
    throw Error("field '" + std::string(key.name) + "' must be " + std::string(key.contract) +
                    ", but " + problem,
                Fault::internal);
  }
  return value.detach().to(torch::kCPU);
}

std::string rows_text(std::string_view field, std::int64_t rows) {
  return "'" + std::string(field) + "' has " +
         (rows < 0 ? std::string("no rows")
                   : std::to_string(rows) + (rows == 1 ? " row" : " rows"));
}

/// A zero vector has no direction, and its distance to each image is the length of that image's
/// vector, so its neighbours are meaningless under any metric.
void refuse_zeros(const Tensor& vectors, Mask mask, const Packet& packet) {
  if (vectors.size(1) == 0) return;
  const Tensor zero = vectors.eq(0).all(1);
  if (!zero.any().item<bool>()) return;
  const auto row = static_cast<std::size_t>(zero.nonzero()[0][0].item<std::int64_t>());
  throw Error("the embedding of " + packet[field::origins][row].text() + " is zero (mask '" +
              to_string(mask) +
              "'), so its neighbours are meaningless; the model has collapsed, or does not respond "
              "to this image");
}

Tensor unchecked_embedding(Mask mask, const Packet& packet) {
  if (mask == Mask::none) return plain(packet, field::embedding);
  const Tensor capsules = plain(packet, field::capsules);
  const Tensor category = mask == Mask::predicted
                              ? plain(packet, field::predicted_category)
                              : torch::tensor(packet[field::categories], torch::kInt64);
  const std::int64_t classes = capsules.size(1);
  const Tensor bad = (category < 0).logical_or(category >= classes);
  if (bad.any().item<bool>()) {
    const std::int64_t row = bad.nonzero()[0][0].item<std::int64_t>();
    const auto& origins = packet[field::origins];
    throw Error(origins[static_cast<std::size_t>(row)].text() + " is of category " +
                std::to_string(category[row].item<std::int64_t>()) + "; mask '" + to_string(mask) +
                "' needs a category from 0 to " + std::to_string(classes - 1) +
                ", for which the model has class capsules");
  }
  return masked_embedding(capsules, category);
}

}  // namespace

void declare_masks(Declaration& d, std::vector<Mask>& masks) {
  d.parameter(
      "masks", masks,
      "which class capsules of each image are compared: all (none), that of the predicted category "
      "(predicted), or that of the true category (ground_truth, reads labels); each listed mask is "
      "evaluated",
      {{"none", Mask::none}, {"predicted", Mask::predicted}, {"ground_truth", Mask::ground_truth}});
  if (wants(masks, Mask::none)) d.needs(field::embedding);
  if (wants(masks, Mask::predicted) || wants(masks, Mask::ground_truth)) d.needs(field::capsules);
  if (wants(masks, Mask::predicted)) d.needs(field::predicted_category);
  if (wants(masks, Mask::ground_truth)) {
    d.needs(field::categories);
    d.reads_label(field::categories.name);
  } else {
    d.accepts(field::categories);
  }
  d.accepts(field::images).doc("only for their size in the protocol");
}

void check_masks(const std::vector<Mask>& masks) {
  if (masks.empty()) {
    throw Error("'masks' is empty; list at least one of none, predicted, ground_truth",
                Fault::configuration);
  }
  for (auto mask = masks.begin(); mask != masks.end(); ++mask) {
    if (std::find(masks.begin(), mask, *mask) == mask) continue;
    throw Error("'masks' has " + to_string(*mask) + " twice; list each mask once",
                Fault::configuration);
  }
}

void require_indexed(const retrieval::Gallery& gallery, const std::vector<Mask>& masks) {
  const std::vector<Mask> indexed = gallery.masks();
  for (const Mask mask : masks) {
    if (indexed.empty() || wants(indexed, mask)) continue;
    throw Error("the gallery is not indexed under mask '" + to_string(mask) +
                    "'; give its retrieval.index the same `masks`",
                Fault::configuration);
  }
}

void require_ready(const retrieval::Gallery& gallery) {
  if (gallery.ready()) return;
  throw Error(
      "the gallery has no images yet; the schedule must run the flow that fills it before the flow "
      "that searches it",
      Fault::configuration);
}

std::int64_t images_in(const Packet& packet, const std::vector<Mask>& masks) {
  std::vector<std::string_view> fields{field::items.name, field::indices.name, field::origins.name,
                                       field::categories.name};
  if (wants(masks, Mask::none)) fields.push_back(field::embedding.name);
  if (wants(masks, Mask::predicted) || wants(masks, Mask::ground_truth)) {
    fields.push_back(field::capsules.name);
  }
  if (wants(masks, Mask::predicted)) fields.push_back(field::predicted_category.name);

  const auto count = static_cast<std::int64_t>(packet[field::items].size());
  static_cast<void>(packet[field::indices]);  // throws if the field is missing
  static_cast<void>(packet[field::origins]);
  for (const Packet::Slot& slot : packet.slots()) {
    if (std::ranges::find(fields, slot.name) == fields.end() || slot.type->rows == nullptr) {
      continue;
    }
    const std::int64_t rows = slot.type->rows(slot.value.get());
    if (rows == count) continue;
    throw Error("the fields of one batch must have the same number of rows, but " +
                    rows_text(field::items.name, count) + " and " + rows_text(slot.name, rows),
                Fault::internal);
  }
  return count;
}

Tensor embedding_under(Mask mask, const Packet& packet) {
  Tensor vectors = unchecked_embedding(mask, packet);
  refuse_zeros(vectors, mask, packet);
  return vectors;
}

retrieval::InputSize input_of(const Packet& packet) {
  if (!packet.has(field::images)) return {};
  const Tensor& images = packet[field::images];
  if (!images.defined() || images.dim() != 4) return {};
  return {images.size(2), images.size(3)};
}

torch::Tensor masked_embedding(const torch::Tensor& capsules, const torch::Tensor& category) {
  if (capsules.dim() != 3 || category.dim() != 1 || category.size(0) != capsules.size(0) ||
      category.scalar_type() != torch::kInt64) {
    throw Error("masking needs capsules [N,K,D] and categories i64[N]", Fault::internal);
  }
  const std::int64_t count = capsules.size(0);
  const std::int64_t classes = capsules.size(1);
  const torch::Tensor known = category.contiguous();
  const std::int64_t* index = known.data_ptr<std::int64_t>();
  torch::Tensor masked = torch::zeros_like(capsules, torch::MemoryFormat::Contiguous);
  for (std::int64_t row = 0; row < count; ++row) {
    if (index[row] < 0 || index[row] >= classes) {
      throw Error("row " + std::to_string(row) + " of a batch has category " +
                  std::to_string(index[row]) + "; the model has class capsules 0 to " +
                  std::to_string(classes - 1));
    }
    masked[row][index[row]].copy_(capsules[row][index[row]]);
  }
  return masked.reshape({count, classes * capsules.size(2)});
}

}  // namespace seam::stages
