#include "stages/model/inception.hpp"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include <algorithm>
#include <cmath>

#include "stages/model/base/image_size.hpp"
#include "stages/nn/embedding.hpp"

namespace seam::nn {
namespace {

using Row = std::vector<InceptionConvolutionOptions>;
using Branches = std::vector<InceptionBranch>;

InceptionConvolutionOptions square(std::string name, std::int64_t out, std::int64_t kernel) {
  return {std::move(name), out, kernel, kernel};
}

/// For example 1 high and 7 wide.
InceptionConvolutionOptions wide(std::string name, std::int64_t out, std::int64_t kernel) {
  return {std::move(name), out, 1, kernel};
}

InceptionConvolutionOptions tall(std::string name, std::int64_t out, std::int64_t kernel) {
  return {std::move(name), out, kernel, 1};
}

InceptionConvolutionOptions halving(std::string name, std::int64_t out) {
  return {std::move(name), out, 3, 3, /*stride=*/2, /*padded=*/false};
}

InceptionBranch in_a_row(Row row) {
  return {InceptionPooling::none, std::move(row)};
}

InceptionBranch pooled_branch(std::int64_t out) {
  return {InceptionPooling::average, {square("branch_pool", out, 1)}};
}

/// The paper's figure 5, with a 5x5 convolution left whole as in torchvision.
Branches block_of_5(std::int64_t pool) {
  return {in_a_row({square("branch1x1", 64, 1)}),
          in_a_row({square("branch5x5_1", 48, 1), square("branch5x5_2", 64, 5)}),
          in_a_row({square("branch3x3dbl_1", 64, 1), square("branch3x3dbl_2", 96, 3),
                    square("branch3x3dbl_3", 96, 3)}),
          pooled_branch(pool)};
}

/// Figure 10: a smaller map.
Branches first_of_6() {
  return {in_a_row({halving("branch3x3", 384)}),
          in_a_row({square("branch3x3dbl_1", 64, 1), square("branch3x3dbl_2", 96, 3),
                    halving("branch3x3dbl_3", 96)}),
          {InceptionPooling::maximum}};
}

/// Figure 6 with n = 7; `c` channels between the ends of a branch.
Branches block_of_6(std::int64_t c) {
  return {in_a_row({square("branch1x1", 192, 1)}),
          in_a_row({square("branch7x7_1", c, 1), wide("branch7x7_2", c, 7),
                    tall("branch7x7_3", 192, 7)}),
          in_a_row({square("branch7x7dbl_1", c, 1), tall("branch7x7dbl_2", c, 7),
                    wide("branch7x7dbl_3", c, 7), tall("branch7x7dbl_4", c, 7),
                    wide("branch7x7dbl_5", 192, 7)}),
          pooled_branch(192)};
}

Branches first_of_7() {
  return {in_a_row({square("branch3x3_1", 192, 1), halving("branch3x3_2", 320)}),
          in_a_row({square("branch7x7x3_1", 192, 1), wide("branch7x7x3_2", 192, 7),
                    tall("branch7x7x3_3", 192, 7), halving("branch7x7x3_4", 192)}),
          {InceptionPooling::maximum}};
}

/// Figure 7.
Branches block_of_7() {
  return {in_a_row({square("branch1x1", 320, 1)}),
          {InceptionPooling::none,
           {square("branch3x3_1", 384, 1)},
           {wide("branch3x3_2a", 384, 3), tall("branch3x3_2b", 384, 3)}},
          {InceptionPooling::none,
           {square("branch3x3dbl_1", 448, 1), square("branch3x3dbl_2", 384, 3)},
           {wide("branch3x3dbl_3a", 384, 3), tall("branch3x3dbl_3b", 384, 3)}},
          pooled_branch(192)};
}

/// In the order of inception_block_names().
std::vector<Branches> published_blocks() {
  return {block_of_5(32),  block_of_5(64),  block_of_5(64),  first_of_6(),
          block_of_6(128), block_of_6(160), block_of_6(160), block_of_6(192),
          first_of_7(),    block_of_7(),    block_of_7()};
}

/// The minimum side of images, for which one pixel remains.
std::int64_t inception_least_side(std::int64_t blocks) {
  if (blocks <= 3) return 27;  // 27 -> 13 -> 11 -> 5 -> 3 -> 1
  return blocks <= 8 ? 43 : 75;
}

Tensor pooled_by(InceptionPooling pooling, const Tensor& x) {
  if (pooling == InceptionPooling::average) return torch::avg_pool2d(x, 3, 1, 1);
  if (pooling == InceptionPooling::maximum) return torch::max_pool2d(x, 3, 2);
  return x;
}

}  // namespace

const std::vector<std::string>& inception_block_names() {
  static const std::vector<std::string> names{"Mixed_5b", "Mixed_5c", "Mixed_5d", "Mixed_6a",
                                              "Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e",
                                              "Mixed_7a", "Mixed_7b", "Mixed_7c"};
  return names;
}

InceptionConvolutionImpl::InceptionConvolutionImpl(std::int64_t in,
                                                   const InceptionConvolutionOptions& o)
    : conv_(register_module(
          "conv", Conv2d(torch::nn::Conv2dOptions(in, o.out, {o.height, o.width})
                             .stride(o.stride)
                             .padding({o.padded ? o.height / 2 : 0, o.padded ? o.width / 2 : 0})
                             .bias(false)))),
      bn_(register_module("bn", BatchNorm2d(torch::nn::BatchNorm2dOptions(o.out).eps(1e-3)))) {}

Tensor InceptionConvolutionImpl::forward(const Tensor& x) {
  return bn_(conv_(x)).relu_();
}

InceptionBlockImpl::InceptionBlockImpl(std::int64_t in,
                                       const std::vector<InceptionBranch>& branches) {
  for (const InceptionBranch& wanted : branches) {
    Branch& branch = branches_.emplace_back();
    branch.pooling = wanted.pooling;
    const auto add = [&](std::vector<InceptionConvolution>& to, std::int64_t from,
                         const InceptionConvolutionOptions& convolution) {
      to.push_back(register_module(convolution.name, InceptionConvolution(from, convolution)));
      return convolution.out;
    };
    std::int64_t channels = in;
    for (const auto& convolution : wanted.row) channels = add(branch.row, channels, convolution);
    if (wanted.beside.empty()) out_ += channels;
    for (const auto& convolution : wanted.beside) out_ += add(branch.beside, channels, convolution);
  }
}

Tensor InceptionBlockImpl::forward(const Tensor& x) {
  std::vector<Tensor> results;
  for (Branch& branch : branches_) {
    Tensor y = pooled_by(branch.pooling, x);
    for (InceptionConvolution& convolution : branch.row) y = convolution(y);
    if (branch.beside.empty()) results.push_back(y);
    for (InceptionConvolution& convolution : branch.beside) results.push_back(convolution(y));
  }
  return torch::cat(results, 1);
}

InceptionImpl::InceptionImpl(InceptionOptions options) : options_(options) {
  const std::vector<std::string>& names = inception_block_names();
  const auto most = static_cast<std::int64_t>(names.size());
  if (options_.blocks < 1 || options_.blocks > most || !(options_.width > 0) ||
      options_.dimensions < 1) {
    throw Error("Inception has 1 to " + std::to_string(most) +
                    " blocks, a width above 0 and an embedding of length 1 or more",
                Fault::configuration);
  }
  add_stem();
  std::vector<Branches> published = published_blocks();
  for (std::size_t block = 0; block < static_cast<std::size_t>(options_.blocks); ++block) {
    add_block(names[block], std::move(published[block]));
  }
  pool_ = register_module("pool", GlobalPooling(Pooling::average));
  embedding_ = register_module("embedding", Linear(features_, options_.dimensions));
}

std::int64_t InceptionImpl::channels(std::int64_t published) const {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(published) * options_.width));
}

void InceptionImpl::add_stem() {
  InceptionConvolutionOptions second = square("Conv2d_2a_3x3", 32, 3);
  second.padded = false;
  InceptionConvolutionOptions last = square("Conv2d_4a_3x3", 192, 3);
  last.padded = false;
  for (InceptionConvolutionOptions convolution :
       {halving("Conv2d_1a_3x3", 32), second, square("Conv2d_2b_3x3", 64, 3),
        square("Conv2d_3b_1x1", 80, 1), last}) {
    convolution.out = channels(convolution.out);
    stem_.push_back(
        register_module(convolution.name, InceptionConvolution(features_, convolution)));
    features_ = convolution.out;
  }
}

void InceptionImpl::add_block(const std::string& name, Branches branches) {
  for (InceptionBranch& branch : branches) {
    for (auto* const convolutions : {&branch.row, &branch.beside}) {
      for (auto& convolution : *convolutions) convolution.out = channels(convolution.out);
    }
  }
  blocks_.push_back(register_module(name, InceptionBlock(features_, branches)));
  features_ = blocks_.back()->out();
}

Tensor InceptionImpl::forward(const Tensor& images) {
  const std::int64_t least = inception_least_side(options_.blocks);
  if (std::min(images.size(2), images.size(3)) < least) {
    const std::string side = std::to_string(least);
    throw Error("images of " + std::to_string(images.size(2)) + "x" +
                    std::to_string(images.size(3)) +
                    " pixels are too small for Inception; resize them to at least " + side + "x" +
                    side + (least > 27 ? ", or lower 'blocks'" : ""),
                Fault::configuration);
  }
  Tensor x = images;
  for (std::size_t at = 0; at < stem_.size(); ++at) {
    x = stem_[at](x);
    if (at == 2 || at == 4) x = torch::max_pool2d(x, 3, 2);
  }
  for (InceptionBlock& block : blocks_) x = block(x);
  x = precise(embedding_, pool_(x));
  return options_.unit_length ? unit(x) : x;
}

}  // namespace seam::nn

namespace seam::stages {

void Inception::declare(Declaration& d) {
  const auto most = static_cast<double>(nn::inception_block_names().size());
  d.doc(
      "The first blocks of Inception v3 (Szegedy et al. 2016) with an embedding instead of "
      "classes: six, a baseline of Siamese Capsule Networks. Its weights are named as torchvision "
      "names them: import them with skip = [\"embedding.*\"], and use images with values from -1 "
      "to 1.");
  d.parameter("blocks", options_.blocks,
              "number of blocks, out of Mixed_5b, 5c, 5d, 6a, ..., 6e, 7a, 7b, 7c")
      .range(1, most);
  d.parameter("width", options_.width,
              "factor on the channels of each convolution; the result is rounded, at least 1")
      .range(0.001, 16);
  d.needs(field::images)
      .contract(images_of_at_least(nn::inception_least_side(options_.blocks)))
      .doc("at least 27x27 pixels; with more than 3 blocks 43x43, with more than 8 75x75");
  declare_embedding(d);
}

std::vector<std::string> Inception::without_place() const {
  std::vector<std::string> patterns{"AuxLogits.*", "fc.*"};
  const std::vector<std::string>& names = nn::inception_block_names();
  for (auto block = static_cast<std::size_t>(options_.blocks); block < names.size(); ++block) {
    patterns.push_back(names[block] + ".*");
  }
  return patterns;
}

}  // namespace seam::stages
