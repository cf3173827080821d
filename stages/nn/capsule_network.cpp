#include "stages/nn/capsule_network.hpp"

#include <torch/types.h>

#include <algorithm>

#include <seam/error.hpp>

#include "stages/counted.hpp"
#include "stages/nn/feature_extractor.hpp"
#include "stages/nn/initialisation.hpp"
#include "stages/nn/residual_features.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

void check(const NetworkOptions& options) {
  const bool any_channels = options.features == FeatureKind::one_convolution;
  if (options.channels != 3 && !(any_channels && options.channels == 1)) {
    throw Error("these features take images of 3 channels, not " + std::to_string(options.channels),
                Fault::configuration);
  }
  if (options.capsule_size < 1 || options.class_capsule_size < 1 || options.classes < 1 ||
      options.width < 1 || options.primary_channels < 1 || options.first_stride.value_or(1) < 1 ||
      options.primary_channels % options.capsule_size != 0) {
    throw Error("primary_channels (" + std::to_string(options.primary_channels) +
                    ") must be a multiple of capsule_size (" +
                    std::to_string(options.capsule_size) + "), and all sizes at least 1",
                Fault::configuration);
  }
  if (options.weights == CapsuleWeights::own) require_image_size(options.images);
}

/// Of LeakyReLU; 0 is ReLU.
double slope_of(const NetworkOptions& options) {
  return options.activation == Activation::relu ? 0 : options.slope;
}

std::shared_ptr<ImageFeaturesImpl> padded_convolutions(const NetworkOptions& options,
                                                       std::uint64_t seed) {
  FeatureExtractorOptions all;
  all.layers = {{options.width, 7, options.first_stride.value_or(2)},
                {2 * options.width},
                {options.width},
                {options.primary_channels}};
  all.slope = slope_of(options);
  all.dropout = options.dropout;
  return std::make_shared<FeatureExtractorImpl>(all, seed);
}

std::shared_ptr<ImageFeaturesImpl> residual_blocks(const NetworkOptions& options,
                                                   std::uint64_t seed) {
  ResidualFeaturesOptions all;
  all.stem = {options.width, 7, options.first_stride.value_or(2)};
  all.blocks = {2 * options.width, 4 * options.width, options.primary_channels};
  all.stem_slope = slope_of(options);
  all.slope = options.residual_slope;
  all.dropout = options.dropout;
  return std::make_shared<ResidualFeaturesImpl>(all, seed);
}

FeatureExtractorOptions valid_convolutions(const NetworkOptions& options) {
  constexpr std::int64_t kernel = 9;
  FeatureExtractorOptions all;
  all.in_channels = options.channels;
  all.padding = Padding::none;
  if (options.features == FeatureKind::one_convolution) {
    const TwoConvolutions& two = options.convolutions;
    all.normalisation = Normalisation::none;
    all.layers = {{options.width, two.kernel, options.first_stride.value_or(1)},
                  {options.primary_channels, two.primary_kernel, two.primary_stride}};
  } else {
    all.layers = {{options.width, kernel, options.first_stride.value_or(1)}};
    for (const std::int64_t factor : {2, 4, 4}) {
      all.layers.push_back({factor * options.width, kernel, 2});
    }
    all.layers.push_back({options.primary_channels, kernel, 2});
    if (options.last_padding == LastPadding::same) all.padding = Padding::last;
  }
  all.slope = slope_of(options);
  all.dropout = options.dropout;
  return all;
}

std::string size_text(ImageSize size) {
  return stages::width_by_height(size.width, size.height);
}

/// Some rows of a batch, in its layout: LibTorch's selection would reorder pixels into planes.
Tensor rows_of(const Tensor& images, const std::vector<std::int64_t>& rows) {
  const Tensor chosen = torch::tensor(rows, torch::kInt64).to(images.device());
  if (images.dim() != 4 || images.is_contiguous()) return images.index_select(0, chosen);
  return images.permute({0, 2, 3, 1}).index_select(0, chosen).permute({0, 3, 1, 2});
}

}  // namespace

NetworkOptions sccapsnet_as_published(NetworkOptions options) {
  options.features = FeatureKind::stacked_convolutional;
  options.activation = Activation::leaky_relu;
  options.slope = 0.1;
  options.residual_slope = 0.1;
  options.routing.logits = Logits::accumulate;
  return options;
}

NetworkOptions rccapsnet_as_published(NetworkOptions options) {
  options = sccapsnet_as_published(options);
  options.features = FeatureKind::residual;
  return options;
}

NetworkOptions sccapsnet_as_released(NetworkOptions options) {
  options.features = FeatureKind::stacked_convolutional;
  options.activation = Activation::relu;
  options.residual_slope = 0.3;
  options.routing.logits = Logits::replace;
  return options;
}

NetworkOptions rccapsnet_as_released(NetworkOptions options) {
  options = sccapsnet_as_released(options);
  options.features = FeatureKind::residual;
  return options;
}

NetworkOptions sccapsnet_cls_as_published() {
  NetworkOptions options = sccapsnet_as_published();
  options.classes = 46;
  options.primary_channels = 256;
  options.capsule_size = 8;
  return options;
}

NetworkOptions rccapsnet_cls_as_published() {
  NetworkOptions options = sccapsnet_cls_as_published();
  options.features = FeatureKind::residual;
  return options;
}

NetworkOptions sccapsnet_cls_as_released() {
  NetworkOptions options;
  options.features = FeatureKind::stacked_valid;
  options.classes = 46;
  options.activation = Activation::leaky_relu;
  options.slope = 0.3;
  options.dropout = 0;
  options.weights = CapsuleWeights::own;
  options.last_padding = LastPadding::same;
  options.glorot_fans = GlorotFans::tensor;
  options.norm_axis = NormAxis::none;
  options.routing.logits = Logits::accumulate;
  return options;
}

NetworkOptions rccapsnet_cls_as_released() {
  NetworkOptions options = sccapsnet_cls_as_released();
  options.features = FeatureKind::residual;
  options.width = 32;
  options.primary_channels = 256;
  options.first_stride = 1;
  options.residual_slope = 0.3;
  options.weights = CapsuleWeights::shared;
  options.glorot_fans = GlorotFans::matrix;
  return options;
}

NetworkOptions siamese_capsules() {
  NetworkOptions options;
  options.features = FeatureKind::one_convolution;
  options.classes = 20;
  options.width = 256;
  options.primary_channels = 256;
  options.capsule_size = 8;
  options.first_stride = 3;
  options.channels = 1;
  options.dropout = 0.2;
  options.weights = CapsuleWeights::own;
  options.routing.iterations = 4;
  options.routing.logits = Logits::accumulate;
  options.routing.squash = SquashForm::tanh;
  options.primary_squash = SquashForm::epsilon_in_root;
  options.norm_axis = NormAxis::none;
  return options;
}

std::shared_ptr<ImageFeaturesImpl> image_features(const NetworkOptions& options,
                                                  std::uint64_t seed) {
  switch (options.features) {
    case FeatureKind::stacked_convolutional:
      return padded_convolutions(options, seed);
    case FeatureKind::residual:
      return residual_blocks(options, seed);
    case FeatureKind::one_convolution:
    case FeatureKind::stacked_valid:
      return std::make_shared<FeatureExtractorImpl>(valid_convolutions(options), seed);
  }
  return nullptr;  // unreachable: all kinds are listed
}

void require_image_size(const ImageSize& images) {
  if (images.height > 0 && images.width > 0) return;
  throw Error(
      "the number of weights depends on the size of the images; set image_height and image_width",
      Fault::configuration);
}

std::int64_t least_side(const NetworkOptions& options) {
  const bool padded = options.features == FeatureKind::stacked_convolutional ||
                      options.features == FeatureKind::residual;
  if (padded) return 1;
  const FeatureExtractorOptions all = valid_convolutions(options);
  std::int64_t side = 1;
  for (auto layer = all.layers.rbegin(); layer != all.layers.rend(); ++layer) {
    const bool padded_layer = all.padding == Padding::last && layer == all.layers.rbegin();
    side = (side - 1) * layer->stride + (padded_layer ? 1 : layer->kernel);
  }
  return side;
}

Tensor group_capsules(const Tensor& features, std::int64_t size) {
  if (features.dim() != 4 || features.size(1) % size != 0) {
    throw Error(c10::str("features ", features.sizes(), " cannot be grouped into capsules of ",
                         size, " channels; the channels must be a multiple of it"),
                Fault::internal);
  }
  // With channels last in memory, as the extractor returns them, this is a view.
  return features.permute({0, 2, 3, 1}).reshape({features.size(0), -1, size});
}

Tensor normalise_capsules(const Tensor& v, NormAxis axis) {
  if (axis == NormAxis::none) return v;
  std::vector<std::int64_t> dimensions;
  if (axis != NormAxis::capsule) dimensions.push_back(1);
  if (axis != NormAxis::class_capsules) dimensions.push_back(2);
  return v * torch::rsqrt(torch::clamp_min((v * v).sum(dimensions, true), 1e-12));
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
    throw Error("a mask needs one category per image", Fault::internal);
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
  check(options);
  extractor = register_module("f", image_features(options, seed));
  routing_weight = register_parameter("w", initial_weights(seed));
}

Tensor CapsuleNetworkImpl::initial_weights(std::uint64_t seed) const {
  const std::int64_t columns = options_.classes * options_.class_capsule_size;
  std::vector<std::int64_t> sizes{options_.capsule_size, columns};
  if (options_.weights == CapsuleWeights::own) {
    try {
      const MapSize map = extractor->map_size(options_.images.height, options_.images.width);
      sizes.insert(sizes.begin(), map.channels / options_.capsule_size * map.height * map.width);
    } catch (const Error& error) {
      throw Error(error.what(), Fault::configuration);  // the options name the size
    }
  }
  const bool as_in_ports = options_.routing.softmax == RoutingSoftmax::input_capsules;
  if (options_.weight_deviation || as_in_ports) {
    return normal_values(sizes, options_.weight_deviation.value_or(1), seed, extractor->streams());
  }
  if (options_.glorot_fans == GlorotFans::matrix || sizes.size() == 2) {
    return glorot_uniform(sizes, options_.capsule_size, columns, seed, extractor->streams());
  }
  const std::int64_t all = options_.classes * sizes.front();
  return glorot_uniform(sizes, all * options_.capsule_size, all * options_.class_capsule_size, seed,
                        extractor->streams());
}

ClassCapsules CapsuleNetworkImpl::head(const Tensor& features, ImageSize images) {
  const Tensor u =
      squash(group_capsules(features.to(routing_weight.scalar_type()), options_.capsule_size),
             options_.primary_squash.value_or(options_.routing.squash), options_.routing.epsilon);
  if (options_.weights == CapsuleWeights::own && u.size(1) != routing_weight.size(0)) {
    throw Error("images of " + size_text(images) + " give " + std::to_string(u.size(1)) +
                " primary capsules, but the network has weights for the " +
                std::to_string(routing_weight.size(0)) + " of images of " +
                size_text(options_.images) +
                " (width x height); resize them, set `image_height` and `image_width`, or let the "
                "capsules share their weights (`routing_weights = \"shared\"`)");
  }
  const Tensor v = probe_.route(u, routing_weight, options_.classes, options_.routing);
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
  const Tensor features =
      extractor->forward(as_channels(images, options_.channels), key);  // checks the images
  return head(features, {images.size(2), images.size(3)});
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
    // Each tower draws its own masks: their streams are a large odd number apart.
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
