#include "stages/model/base/residual.hpp"

#include <algorithm>

#include <ATen/Parallel.h>
#include <torch/nn/init.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include "stages/counted.hpp"
#include "stages/nn/embedding.hpp"
#include "stages/nn/fixed_parts.hpp"

namespace seam::nn {
namespace {

using torch::nn::Sequential;

Conv2d residual_convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                            std::int64_t stride = 1) {
  return Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// The projection that gives the shortcut the size of the sum; null if it already has it.
Sequential shortcut(const ResidualBlockOptions& options, std::int64_t out) {
  if (options.stride == 1 && options.in == out) return nullptr;
  return Sequential(residual_convolution(options.in, out, 1, options.stride), BatchNorm2d(out));
}

const char* name_of_excitation(ResidualStyle style) {
  return style == ResidualStyle::caffe ? "se_module" : "se";
}

/// The stride of a bottleneck's first convolution; the second has the rest.
std::int64_t first_stride(const ResidualBlockOptions& options) {
  return options.style == ResidualStyle::caffe ? options.stride : 1;
}

/// torchvision's: He's normal initialisation over the outputs of a convolution.
void initialise_residual(torch::nn::Module& network) {
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (const auto* convolution = module->as<torch::nn::Conv2d>()) {
      torch::nn::init::kaiming_normal_(convolution->weight, 0, torch::kFanOut, torch::kReLU);
    }
  }
}

}  // namespace

std::int64_t ResidualOptions::features() const {
  std::int64_t channels =
      width * (block == ResidualBlock::bottleneck ? BottleneckImpl::expansion : 1);
  for (std::size_t layer = 1; layer < blocks.size(); ++layer) channels *= 2;
  return channels;
}

SqueezeExcitationImpl::SqueezeExcitationImpl(std::int64_t channels, ResidualStyle style)
    : fc1_(nullptr), fc2_(nullptr) {
  const std::int64_t sixteenth = channels / 16;
  const std::int64_t squeezed = style == ResidualStyle::caffe
                                    ? std::max<std::int64_t>(1, sixteenth)
                                    : std::max<std::int64_t>(8, (sixteenth + 4) / 8 * 8);
  fc1_ = register_module("fc1", Conv2d(torch::nn::Conv2dOptions(channels, squeezed, 1)));
  fc2_ = register_module("fc2", Conv2d(torch::nn::Conv2dOptions(squeezed, channels, 1)));
}

Tensor SqueezeExcitationImpl::forward(const Tensor& x) {
  const Tensor gates = fc2_(fc1_(x.mean({2, 3}, /*keepdim=*/true)).relu_());
  // LibTorch's sigmoid rounds differently at the end of a thread's share, so what several threads
  // would share is computed in parts.
  if (gates.numel() <= at::internal::GRAIN_SIZE) return x * gates.sigmoid();
  return x * by_parts(gates, torch::sigmoid);
}

BasicBlockImpl::BasicBlockImpl(const ResidualBlockOptions& o)
    : conv1_(register_module("conv1", residual_convolution(o.in, o.channels, 3, o.stride))),
      conv2_(register_module("conv2", residual_convolution(o.channels, o.channels, 3))),
      bn1_(register_module("bn1", BatchNorm2d(o.channels))),
      bn2_(register_module("bn2", BatchNorm2d(o.channels))),
      downsample_(shortcut(o, o.channels)) {
  if (o.squeeze_excitation) {
    se_ = register_module(name_of_excitation(o.style), SqueezeExcitation(o.channels, o.style));
  }
  if (downsample_) register_module("downsample", downsample_);
}

Tensor BasicBlockImpl::forward(const Tensor& x) {
  Tensor sum = bn1_(conv1_(x)).relu_();
  sum = bn2_(conv2_(sum));
  if (se_) sum = se_(sum);
  return sum.add_(downsample_ ? downsample_->forward(x) : x).relu_();
}

BottleneckImpl::BottleneckImpl(const ResidualBlockOptions& o)
    : conv1_(register_module("conv1", residual_convolution(o.in, o.channels, 1, first_stride(o)))),
      conv2_(register_module(
          "conv2", residual_convolution(o.channels, o.channels, 3, o.stride / first_stride(o)))),
      conv3_(register_module("conv3", residual_convolution(o.channels, o.channels * expansion, 1))),
      bn1_(register_module("bn1", BatchNorm2d(o.channels))),
      bn2_(register_module("bn2", BatchNorm2d(o.channels))),
      bn3_(register_module("bn3", BatchNorm2d(o.channels * expansion))),
      downsample_(shortcut(o, o.channels * expansion)) {
  if (o.squeeze_excitation) {
    se_ = register_module(name_of_excitation(o.style),
                          SqueezeExcitation(o.channels * expansion, o.style));
  }
  if (downsample_) register_module("downsample", downsample_);
}

Tensor BottleneckImpl::forward(const Tensor& x) {
  Tensor sum = bn1_(conv1_(x)).relu_();
  sum = bn2_(conv2_(sum)).relu_();
  sum = bn3_(conv3_(sum));
  if (se_) sum = se_(sum);
  return sum.add_(downsample_ ? downsample_->forward(x) : x).relu_();
}

ResidualNetworkImpl::ResidualNetworkImpl(ResidualOptions options) : options_(std::move(options)) {
  const bool imagenet = options_.stem == ResidualStem::imagenet;
  const bool caffe = options_.style == ResidualStyle::caffe;
  conv1_ = residual_convolution(3, options_.width, imagenet ? 7 : 3,
                                options_.stem == ResidualStem::small ? 1 : 2);
  bn1_ = BatchNorm2d(options_.width);
  if (caffe) {
    const auto stem = register_module("layer0", std::make_shared<torch::nn::Module>("layer0"));
    stem->register_module("conv1", conv1_);
    stem->register_module("bn1", bn1_);
  } else {
    register_module("conv1", conv1_);
    register_module("bn1", bn1_);
  }
  ResidualBlockOptions block{options_.width, options_.width, 1, options_.squeeze_excitation,
                             options_.style};
  for (const std::int64_t count : options_.blocks) {
    Sequential layer;
    for (std::int64_t at = 0; at < count; ++at) {
      if (options_.block == ResidualBlock::basic) {
        layer->push_back(BasicBlock(block));
        block.in = block.channels * BasicBlockImpl::expansion;
      } else {
        layer->push_back(Bottleneck(block));
        block.in = block.channels * BottleneckImpl::expansion;
      }
      block.stride = 1;
    }
    layers_.push_back(register_module("layer" + std::to_string(layers_.size() + 1), layer));
    block.channels *= 2;
    block.stride = layers_.size() + 1 == options_.blocks.size() ? options_.last_stride : 2;
  }
  if (options_.initialisation == ResidualInitialisation::fan_out) initialise_residual(*this);
  const std::int64_t features = options_.features();
  if (options_.normalise_map) map_bn_ = register_module("map_bn", BatchNorm2d(features));
  pool_ = register_module("pool", GlobalPooling(options_.pooling));
  if (options_.dimensions > 0) {
    embedding_ = register_module("embedding", Linear(features, options_.dimensions));
  }
  if (options_.classes > 0) {
    fc_ = register_module(caffe ? "last_linear" : "fc", Linear(features, options_.classes));
  }
}

Tensor ResidualNetworkImpl::pooled_stem(const Tensor& map) const {
  if (options_.stem != ResidualStem::imagenet) return map;
  if (options_.style == ResidualStyle::torchvision) return torch::max_pool2d(map, 3, 2, 1);
  if (map.size(2) < 2 || map.size(3) < 2) {
    throw Error(
        "the network needs images of at least 3x3 pixels; the first convolution reduces these to " +
            stages::width_by_height(map.size(3), map.size(2)),
        Fault::configuration);
  }
  return torch::max_pool2d(map, 3, 2, /*padding=*/0, /*dilation=*/1, /*ceil_mode=*/true);
}

ResidualOutput ResidualNetworkImpl::forward(const Tensor& images) {
  Tensor map = pooled_stem(bn1_(conv1_(images)).relu_());
  for (torch::nn::Sequential& layer : layers_) map = layer->forward(map);
  const Tensor pooled = pool_(map);
  Tensor embedding = embedding_ ? embedding_(pooled) : pooled;
  if (options_.unit_length) embedding = unit(embedding.to(pooled.scalar_type()));
  return {map_bn_ ? map_bn_(map) : map, embedding, fc_ ? fc_(pooled) : Tensor()};
}

}  // namespace seam::nn

namespace seam::stages {

void ResidualStage::declare_sizes(Declaration& d) {
  d.parameter(
       "blocks", blocks_,
       "number of blocks of each size; empty: those of the architecture. The first block of a size "
       "halves height and width (for the last size see last_stride) and doubles the channels")
      .range(1, 100);
  d.parameter("last_stride", options_.last_stride,
              "stride of the last of several sizes; 1 makes the feature map twice as high and "
              "wide, which helps retrieval by local features")
      .range(1, 2);
  d.parameter("width", options_.width, "channels of the first convolution").range(1, 1024);
}

void ResidualStage::declare_outputs(Declaration& d) {
  d.parameter(
      "pooling", options_.pooling, "pooling of the feature map over its pixels",
      {{"average", nn::Pooling::average}, {"generalised_mean", nn::Pooling::generalised_mean}});
  d.parameter("dimensions", options_.dimensions,
              "length of the embedding, which a dense layer makes; 0: the pooled features are the "
              "embedding")
      .range(0, 65536);
  d.parameter("unit_length", options_.unit_length, "whether to scale the embedding to length 1");
  d.parameter("classes", options_.classes, "classes of the classifier; 0: no classifier")
      .range(0, 1000000);
  d.parameter("initialisation", options_.initialisation,
              "initial weights of convolutions: normal with variance 2 / fan-out, as in "
              "torchvision, or uniform in ±1 / sqrt(fan-in), LibTorch's default. The latter are "
              "smaller, so they change faster at the same learning rate",
              {{"fan_out", nn::ResidualInitialisation::fan_out},
               {"fan_in", nn::ResidualInitialisation::fan_in}})
      .initial();
  d.parameter(
      "embedding", embedding_,
      "whether to provide the embedding; false: a different stage makes one from the feature map");
  d.parameter("feature_map", feature_map_, "whether to also provide the feature map");
  d.parameter("normalise_map", options_.normalise_map,
              "whether the feature map that other stages get goes through batch normalisation; the "
              "map that is pooled here does not");
  d.parameter("mirrored", mirrored_,
              "whether evaluation averages the embeddings, and logits, of an image and its mirror "
              "image: a better ranking for twice the time");
  d.needs(field::images);
  const nn::ResidualOptions all = options();
  const std::int64_t length = all.dimensions > 0 ? all.dimensions : all.features();
  if (embedding_) {
    d.provides(field::embedding).contract("f32[N," + std::to_string(length) + "]");
  }
  if (all.classes > 0) {
    d.provides(field::logits).contract("f32[N," + std::to_string(all.classes) + "]");
  }
  if (feature_map_) {
    d.provides(field::feature_map).contract("f32[N," + std::to_string(all.features()) + ",h,w]");
  }
  declare_classifier(d);
}

nn::ResidualOptions ResidualStage::options() const {
  nn::ResidualOptions options = options_;
  choose_network(options);
  if (!blocks_.empty()) options.blocks = blocks_;
  if (options.blocks.size() > 8) options.blocks.resize(8);  // make() rejects more
  return options;
}

void ResidualStage::check_parameters() const {
  if (blocks_.size() > 8) {
    throw Error("'blocks' lists " + std::to_string(blocks_.size()) +
                    " sizes, but the maximum is 8; published networks have 4",
                Fault::configuration);
  }
  if (!embedding_ && (!feature_map_ || options_.dimensions > 0 ||
                      (options_.classes == 0 && options_.pooling != nn::Pooling::average))) {
    throw Error(
        "`embedding = false` leaves only the feature map as output: set `feature_map = true`, and "
        "remove `dimensions` and, without `classes`, `pooling`, whose weights nothing would train",
        Fault::configuration);
  }
  if (options_.normalise_map && !feature_map_) {
    throw Error("`normalise_map` has no effect without `feature_map = true`; remove it",
                Fault::configuration);
  }
  if (mirrored_ && !embedding_ && options_.classes == 0) {
    throw Error("`mirrored` has no effect on a feature map; remove it, or `embedding = false`",
                Fault::configuration);
  }
}

nn::ResidualNetwork ResidualStage::make() const {
  check_parameters();
  return nn::ResidualNetwork(options());
}

void ResidualStage::forward(nn::ResidualNetwork& net, Packet& packet, Context& context) {
  const Tensor& images = packet.get(field::images);
  const nn::ResidualOutput output =
      mirrored_ && !context.training() ? forward_mirrored(net, images) : net->forward(images);
  if (embedding_) packet.set(field::embedding, output.embedding);
  if (output.logits.defined()) packet.set(field::logits, output.logits);
  if (feature_map_) packet.set(field::feature_map, output.feature_map);
}

nn::ResidualOutput ResidualStage::forward_mirrored(nn::ResidualNetwork& net,
                                                   const Tensor& images) const {
  nn::ResidualOutput output = net->forward(images);
  const nn::ResidualOutput mirrored = net->forward(images.flip(3));
  // In float32 whatever the precision of the network: the ranking depends on small differences.
  output.embedding =
      (output.embedding.to(torch::kFloat32) + mirrored.embedding.to(torch::kFloat32)) / 2;
  if (options_.unit_length) output.embedding = nn::unit(output.embedding);
  if (output.logits.defined()) output.logits = (output.logits + mirrored.logits) / 2;
  return output;
}

std::vector<std::string> ResidualStage::without_place() const {
  if (options_.classes > 0) return {};
  return {options().style == nn::ResidualStyle::caffe ? "last_linear.*" : "fc.*"};
}

}  // namespace seam::stages
