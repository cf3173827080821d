#include "stages/model/drawn_capsule.hpp"

#include <torch/types.h>

#include <seam/contract.hpp>
#include <seam/error.hpp>

namespace seam::stages {

void declare_drawn_capsule(Declaration& d, std::int64_t classes, std::int64_t size) {
  d.needs(field::capsules)
      .contract("f32[N," + dimension_of(classes, "classes") + "," +
                dimension_of(size, "capsule_size") + "]");
  d.needs(field::predicted_category).doc("selects the capsule to draw in evaluation");
  d.accepts(field::categories).doc("selects the capsule to draw in training");
}

Tensor drawn_capsule(const Packet& packet, const Context& context) {
  if (!context.training()) return packet.get(field::predicted_category);
  if (!packet.has(field::categories)) {
    throw Error(
        "in training the decoder draws the capsule of each image's category, but the packets have "
        "no `categories`; use a data set that has them",
        Fault::configuration);
  }
  return torch::tensor(packet.get(field::categories), torch::kInt64);
}

}  // namespace seam::stages
