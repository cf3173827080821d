#include "stages/nn/capsule_network.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <sstream>

#include <seam/error.hpp>

#include "stages/nn/initialisation.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

FeatureExtractorOptions extractor_options(const NetworkOptions& options) {
  if (options.capsule_size < 1 || options.class_capsule_size < 1 || options.classes < 1 ||
      options.width < 1 || options.primary_channels < 1 ||
      options.primary_channels % options.capsule_size != 0) {
    throw Error("primary_channels (" + std::to_string(options.primary_channels) +
                    ") must be a multiple of capsule_size (" +
                    std::to_string(options.capsule_size) + "), and all sizes at least 1",
                Fault::configuration);
  }
  FeatureExtractorOptions result;
  result.layers = {
      {options.width}, {2 * options.width}, {options.width}, {options.primary_channels}};
  result.activation = options.activation;
  result.slope = options.slope;
  result.dropout = options.dropout;
  return result;
}

/// Some rows of a batch, in its layout: LibTorch's selection would reorder pixels into planes.
Tensor rows_of(const Tensor& images, const std::vector<std::int64_t>& rows) {
  const Tensor chosen = torch::tensor(rows, torch::kInt64).to(images.device());
  if (images.dim() != 4 || images.is_contiguous()) return images.index_select(0, chosen);
  return images.permute({0, 2, 3, 1}).index_select(0, chosen).permute({0, 3, 1, 2});
}

}  // namespace

NetworkOptions sccapsnet_as_published(NetworkOptions options) {
  options.activation = Activation::leaky_relu;
  options.slope = 0.1;
  options.routing.logits = Logits::accumulate;
  return options;
}

NetworkOptions sccapsnet_as_released(NetworkOptions options) {
  options.activation = Activation::relu;
  options.routing.logits = Logits::replace;
  return options;
}

Tensor group_capsules(const Tensor& features, std::int64_t size) {
  if (features.dim() != 4 || features.size(1) % size != 0) {
    std::ostringstream text;
    text << "features " << features.sizes() << " cannot be grouped into capsules of " << size
         << " channels; the channels must be a multiple of it";
    throw Error(text.str(), Fault::internal);
  }
  // Channels last in memory, as the extractor leaves them, makes this a view.
  return features.permute({0, 2, 3, 1}).reshape({features.size(0), -1, size});
}

Tensor normalise_capsules(const Tensor& v, NormAxis axis) {
  const std::int64_t dimension = axis == NormAxis::capsule ? 2 : 1;
  return v * torch::rsqrt(torch::clamp_min((v * v).sum(dimension, true), 1e-12));
}

Tensor capsule_lengths(const Tensor& v) {
  const Tensor square = (v * v).sum(2);
  const Tensor zero = square.detach() == 0;  // where the root's slope is infinite
  return torch::sqrt(square.masked_fill(zero, 1)).masked_fill(zero, 0);
}

Tensor mask_capsules(const Tensor& capsules, const Tensor& categories) {
  if (!categories.defined()) return capsules.flatten(1);
  const std::int64_t classes = capsules.size(1);
  if (categories.dim() != 1 || categories.size(0) != capsules.size(0)) {
    throw Error("a mask needs one category an image", Fault::internal);
  }
  const Tensor plain = categories.to(torch::kCPU, torch::kInt64).contiguous();
  for (std::int64_t i = 0; i < plain.numel(); ++i) {
    const std::int64_t category = plain.data_ptr<std::int64_t>()[i];
    if (category < 0 || category >= classes) {
      throw Error("category " + std::to_string(category) + " is outside the model's " +
                  std::to_string(classes) + " classes (0 to " + std::to_string(classes - 1) +
                  "); set the model's `classes` to the data's number of categories");
    }
  }
  const Tensor mask =
      torch::one_hot(plain, classes).to(capsules.device(), capsules.scalar_type()).unsqueeze(-1);
  return (capsules * mask).flatten(1);
}

CapsuleNetworkImpl::CapsuleNetworkImpl(const NetworkOptions& options, std::uint64_t seed)
    : options_(options) {
  extractor = register_module("f", FeatureExtractor(extractor_options(options), seed));
  const std::int64_t columns = options.classes * options.class_capsule_size;
  routing_weight =
      register_parameter("w", glorot_uniform({options.capsule_size, columns}, options.capsule_size,
                                             columns, seed, extractor->options().layers.size()));
}

CapsuleNetworkImpl::CapsuleNetworkImpl(const NetworkOptions& options)
    : CapsuleNetworkImpl(options, DropoutKey::drawn().seed) {}

ClassCapsules CapsuleNetworkImpl::head(const Tensor& features) const {
  const Tensor u =
      squash(group_capsules(features.to(routing_weight.scalar_type()), options_.capsule_size),
             options_.routing.epsilon);
  const Tensor v = route(u, routing_weight, options_.classes, options_.routing);
  ClassCapsules result;
  result.capsules = normalise_capsules(v, options_.norm_axis);
  result.lengths = capsule_lengths(v);
  result.predicted = result.lengths.detach().argmax(1);
  return result;
}

ClassCapsules CapsuleNetworkImpl::forward(const Tensor& images) {
  return forward(images, is_training() ? DropoutKey::drawn() : DropoutKey{});
}

ClassCapsules CapsuleNetworkImpl::forward(const Tensor& images, const DropoutKey& key) {
  return head(extractor->forward(images, key));
}

ClassCapsules CapsuleNetworkImpl::forward_towers(const Tensor& images,
                                                 const std::vector<std::int64_t>& tower_of_row,
                                                 const DropoutKey& key) {
  if (static_cast<std::int64_t>(tower_of_row.size()) != images.size(0)) {
    throw Error("each image needs a tower", Fault::internal);
  }
  const std::int64_t towers =
      tower_of_row.empty() ? 0 : *std::max_element(tower_of_row.begin(), tower_of_row.end()) + 1;
  std::vector<Tensor> capsules;
  std::vector<Tensor> lengths;
  std::vector<Tensor> predicted;
  std::vector<std::int64_t> order(tower_of_row.size());  // where a row of the images went
  std::int64_t placed = 0;
  for (std::int64_t tower = 0; tower < towers; ++tower) {
    std::vector<std::int64_t> rows;
    for (std::size_t row = 0; row < tower_of_row.size(); ++row) {
      if (tower_of_row[row] != tower) continue;
      rows.push_back(static_cast<std::int64_t>(row));
      order[row] = placed++;
    }
    if (rows.empty()) continue;
    DropoutKey of_tower = key;
    // Towers draw masks of their own: streams a large odd number apart.
    of_tower.stream += 0xD1B54A32D192ED03U * static_cast<std::uint64_t>(tower);
    const ClassCapsules part = forward(rows_of(images, rows), of_tower);
    capsules.push_back(part.capsules);
    lengths.push_back(part.lengths);
    predicted.push_back(part.predicted);
  }
  const Tensor back = torch::tensor(order, torch::kInt64).to(images.device());
  return {torch::cat(capsules).index_select(0, back), torch::cat(lengths).index_select(0, back),
          torch::cat(predicted).index_select(0, back)};
}

}  // namespace seam::nn
