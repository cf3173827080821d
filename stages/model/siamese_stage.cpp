#include "stages/model/siamese_stage.hpp"

#include <string>

#include <seam/error.hpp>

#include "stages/nn/initialisation.hpp"

namespace seam::stages {

void SiameseStage::declare_network(Declaration& d) {
  d.parameter(
      "variant", variant_,
      "the network that the paper describes, or the one that its released code builds by default: "
      "3x3 convolutions with mirrored borders and batch normalisation, fewer primary capsules, "
      "sigmoid, 3 iterations",
      {{"as_published", Variant::as_published}, {"released_default", Variant::released_default}});
  declare_images(d);
  declare_capsules(d);
  declare_routing(d);
  d.parameter("dimensions", dimensions_, "length of the embedding").range(1, 65536);
  d.parameter("unit_length", unit_length_, "whether to scale the embedding to length 1");
  d.needs(field::images)
      .contract("f32[N,3," + std::to_string(set_.images.height) + "," +
                std::to_string(set_.images.width) + "]");
  d.provides(field::embedding).contract("f32[N," + std::to_string(dimensions_) + "]");
  d.provides(field::capsules)
      .contract("f32[N," + std::to_string(set_.classes) + "," +
                std::to_string(set_.class_capsule_size) + "]")
      .doc("the face capsules");
  declare_module(d);
}

void SiameseStage::declare_images(Declaration& d) {
  d.parameter("channels", set_.channels, "number of input channels: 1 (luminance) or 3")
      .range(1, 3);
  d.parameter("image_height", set_.images.height,
              "height of the input images; no other size is accepted")
      .range(1, 4096);
  d.parameter("image_width", set_.images.width, "width of the input images").range(1, 4096);
  d.parameter(
       "width", width_,
       "channels of the first convolution; default: 256 as published and 16 in released_default")
      .range(1, 4096);
  d.parameter("kernel", kernel_, "as published: side of the first convolution; default: 9")
      .range(1, 64);
  d.parameter("first_stride", first_stride_,
              "as published: stride of the first convolution; default: 3")
      .range(1, 16);
  d.parameter("dropout", set_.dropout,
              "probability that a whole channel of a convolution is zeroed in training")
      .range(0, 0.99);
}

void SiameseStage::declare_capsules(Declaration& d) {
  d.parameter("primary_capsules", primary_capsules_,
              "primary capsules at each position of their convolution; default: 32 as published "
              "and 16 in released_default")
      .range(1, 4096);
  d.parameter("capsule_size", set_.capsule_size, "size of a primary capsule").range(1, 1024);
  d.parameter("primary_kernel", primary_kernel_,
              "as published: side of the primary capsules' convolution; default: 9")
      .range(1, 64);
  d.parameter("primary_stride", primary_stride_,
              "as published: stride of the primary capsules' convolution; default: 2")
      .range(1, 16);
  d.parameter("face_capsules", set_.classes,
              "face capsules, to which the primary capsules are routed")
      .range(1, 4096);
  d.parameter("face_capsule_size", set_.class_capsule_size, "size of a face capsule")
      .range(1, 1024);
}

void SiameseStage::declare_routing(Declaration& d) {
  d.parameter("iterations", iterations_,
              "routing iterations; default: 4 as published (6 for LFW, 4 for AT&T) and 3 in "
              "released_default")
      .range(1, 100);
  d.parameter(
      "nonlinearity", nonlinearity_,
      "non-linearity of face capsules: squash, or tanh or sigmoid of each element; variant: tanh "
      "as published and sigmoid in released_default. Primary capsules are always squashed",
      {{"variant", Nonlinearity::variant},
       {"squash", Nonlinearity::squash},
       {"tanh", Nonlinearity::tanh},
       {"sigmoid", Nonlinearity::sigmoid}});
  d.parameter("gradient", set_.routing.gradient,
              "how many routing iterations are differentiated: all, or only the last one",
              {{"all_iterations", nn::RoutingGradient::all_iterations},
               {"last_iteration", nn::RoutingGradient::last_iteration}});
  d.parameter(
       "weight_deviation", set_.weight_deviation,
       "standard deviation of the routing weights' initial values, which are then normally "
       "distributed; default: Glorot's uniform distribution, or 1 with compat = \"routes_softmax\"")
      .range(1e-9, 100);
  d.parameter("compat", compat_,
              "routes_softmax repeats an error of the released code and the code it is based on, "
              "to compare with their results: coupling coefficients sum to 1 over the primary "
              "capsules instead of the face capsules",
              {{"none", Compat::none}, {"routes_softmax", Compat::routes_softmax}});
}

nn::NetworkOptions SiameseStage::options() const {
  const bool published = variant_ == Variant::as_published;
  const nn::NetworkOptions base =
      published ? nn::siamese_capsules_as_published() : nn::siamese_capsules_released_default();
  nn::NetworkOptions all = set_;
  all.features = base.features;
  all.width = width_.value_or(base.width);
  const std::int64_t capsules =
      primary_capsules_.value_or(base.primary_channels / base.capsule_size);
  all.primary_channels = capsules * all.capsule_size;
  all.first_stride = first_stride_ ? first_stride_ : base.first_stride;
  all.convolutions.kernel = kernel_.value_or(base.convolutions.kernel);
  all.convolutions.primary_kernel = primary_kernel_.value_or(base.convolutions.primary_kernel);
  all.convolutions.primary_stride = primary_stride_.value_or(base.convolutions.primary_stride);
  all.routing.iterations = iterations_.value_or(base.routing.iterations);
  all.routing.squash = base.routing.squash;
  if (nonlinearity_ == Nonlinearity::squash) {
    all.routing.squash = nn::SquashForm::epsilon_in_root;
  } else if (nonlinearity_ == Nonlinearity::tanh) {
    all.routing.squash = nn::SquashForm::tanh;
  } else if (nonlinearity_ == Nonlinearity::sigmoid) {
    all.routing.squash = nn::SquashForm::sigmoid;
  }
  if (compat_ == Compat::routes_softmax) {
    all.routing.softmax = nn::RoutingSoftmax::input_capsules;
    if (!all.weight_deviation) all.weight_deviation = 1;
  }
  return all;
}

nn::SiameseCapsules SiameseStage::make() const {
  if (variant_ == Variant::released_default) {
    const auto refuse = [](const std::optional<std::int64_t>& value, const char* parameter) {
      if (!value) return;
      throw Error("`" + std::string(parameter) +
                      "` has no effect with `variant = \"released_default\"`; remove it",
                  Fault::configuration);
    };
    refuse(kernel_, "kernel");
    refuse(first_stride_, "first_stride");
    refuse(primary_kernel_, "primary_kernel");
    refuse(primary_stride_, "primary_stride");
  }
  nn::SiameseCapsulesOptions all;
  all.capsules = options();
  all.dimensions = dimensions_;
  all.unit_length = unit_length_;
  all.dropout = concrete_dropout();
  return nn::SiameseCapsules(all, nn::generator_seed());
}

void SiameseStage::forward(nn::SiameseCapsules& net, Packet& packet, Context& context) {
  const nn::DropoutKey key{context.seed(), stream_of(context.stage()),
                           static_cast<std::uint64_t>(context.epoch()), packet.sequence()};
  const nn::SiameseResult result = net->forward(packet.get(field::images), key);
  packet.set(field::embedding, result.embedding);
  packet.set(field::capsules, result.capsules);
}

}  // namespace seam::stages
