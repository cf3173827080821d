#include "template_stage.hpp"

#include <torch/types.h>

#include <cstdint>
#include <vector>

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("Pulls the embeddings of a category towards their mean in the batch.");
  d.parameter("radius", radius_, "squared distance from the mean that costs nothing").range(0, 4);
  // Contracts such as f32[N,E] are checked along the whole pipeline before anything runs.
  d.needs(seam::field::embedding);
  d.needs(seam::field::categories);
  d.headline("loss", seam::Better::lower);
  declare_loss(d);
}

seam::Tensor TemplateStage::compute(const seam::Packet& packet, seam::Context& /*context*/) {
  const seam::Tensor& embedding = packet.get(seam::field::embedding);
  const std::vector<std::int64_t>& listed = packet.get(seam::field::categories);
  const seam::Tensor categories = torch::tensor(listed, torch::kInt64).to(embedding.device());
  // Row i of `same` averages over the rows of i's category.
  const seam::Tensor same = categories.unsqueeze(0).eq(categories.unsqueeze(1)).to(torch::kFloat32);
  const seam::Tensor means = (same / same.sum(1, /*keepdim=*/true)).matmul(embedding);
  const seam::Tensor distance = (embedding - means).square().sum(1);
  measure("farthest", distance.max());  // a metric of the accepted batches
  return (distance - radius_).clamp_min(0).mean();
}
