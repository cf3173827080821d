#include "stages/model/capsule_decoder.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <string>
#include <vector>

#include "stages/model/rccapsnet.hpp"
#include "stages/model/rccapsnet_cls.hpp"
#include "stages/model/sccapsnet_cls.hpp"
#include "stages/reconstruction.hpp"
#include "tests/stages/model/network_testing.hpp"
#include "tests/stages/nn/network_properties.hpp"
#include "tests/support/matchers.hpp"

namespace seam::nn::capsule_decoder_test {

using torch::Tensor;
using Sizes = std::vector<std::int64_t>;

CapsuleDecoderOptions small() {
  CapsuleDecoderOptions options;
  options.classes = 3;
  options.capsule_size = 4;
  options.images = {12, 8};
  options.dense_channels = 5;
  options.channels = {6, 4};
  options.kernels = {5, 3, 4};
  options.strides = {2, 1, 2};
  return options;
}

/// A transposed convolution is the gradient of a convolution with "SAME" padding.
TEST(CapsuleDecoder, EachConvolutionIsTheGradientOfOneWithSamePadding) {
  torch::manual_seed(1);
  for (const auto& [kernel, stride] :
       {std::pair{9, 2}, std::pair{4, 2}, std::pair{7, 2}, std::pair{5, 1}, std::pair{3, 3}}) {
    CapsuleDecoderOptions options = small();
    options.images = {6 * stride, 4 * stride};
    options.channels = {};
    options.kernels = {kernel};
    options.strides = {stride};
    CapsuleDecoder decoder(options, 2);
    decoder->to(torch::kFloat64);
    const torch::NoGradGuard no_gradient;
    auto weights = decoder->named_parameters();
    const Tensor capsules = torch::randn({2, 3, 4}, torch::kFloat64);
    const Tensor categories = torch::tensor({2, 0}, torch::kInt64);
    const Tensor drawn = decoder->forward(capsules, categories);
    ASSERT_EQ(drawn.sizes(), (Sizes{2, 3, 6 * stride, 4 * stride}));
    const Tensor dense = torch::relu(torch::linear(mask_capsules(capsules, categories),
                                                   weights["dense.weight"], weights["dense.bias"]));
    const Tensor x = dense.view({2, 6, 4, 5}).permute({0, 3, 1, 2});  // pixel by pixel
    const at::AutoGradMode gradients(true);
    const Tensor picture = torch::zeros_like(drawn).requires_grad_(true);
    const Tensor convolved =
        torch::conv2d(same_padded(picture, kernel, stride), weights["conv1.weight"], {}, stride);
    (convolved * x).sum().backward();
    EXPECT_TRUE(torch::allclose(torch::logit(drawn), picture.grad(), 1e-9, 1e-10))
        << kernel << ", " << stride;
  }
}

TEST(CapsuleDecoder, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(2);
  CapsuleDecoder decoder(small(), 2);
  decoder->to(torch::kFloat64);
  const Tensor capsules = torch::randn({2, 3, 4}, torch::kFloat64).requires_grad_(true);
  const Tensor categories = torch::tensor({1, 2}, torch::kInt64);
  const Tensor direction = torch::randn({2, 3, 12, 8}, torch::kFloat64);
  test::expect_gradients([&] { return (decoder->forward(capsules, categories) * direction).sum(); },
                         test::with_weights({capsules}, *decoder), 8, 1e-6, 1e-5);
}

TEST(CapsuleDecoder, DrawsTheCapsuleOfTheCategoryAlone) {
  torch::manual_seed(3);
  CapsuleDecoder decoder(small(), 2);
  decoder->eval();
  const torch::NoGradGuard no_gradient;
  const Tensor capsules = torch::randn({1, 3, 4});
  const Tensor category = torch::tensor({1}, torch::kInt64);
  const Tensor drawn = decoder->forward(capsules, category);
  Tensor others = capsules.clone();
  others[0][0].fill_(9);
  others[0][2].fill_(-9);
  EXPECT_TRUE(torch::equal(decoder->forward(others, category), drawn));
  EXPECT_FALSE(torch::equal(decoder->forward(capsules, category + 1), drawn));
}

TEST(CapsuleDecoder, ThreadsDoNotChangeAByteOfAStep) {
  CapsuleDecoderOptions options = small();
  options.images = {48, 32};
  torch::manual_seed(4);
  test::expect_same_bytes_for_any_threads(
      [&] { return CapsuleDecoder(options, 2); }, {torch::randn({9, 3, 4}).requires_grad_()},
      [](CapsuleDecoder& decoder, const std::vector<Tensor>& inputs) {
        const Tensor categories = torch::tensor({0, 1, 2, 0, 1, 2, 0, 1, 2}, torch::kInt64);
        return std::vector<Tensor>{decoder->forward(inputs[0], categories)};
      });
}

TEST(CapsuleDecoder, UnderAutocastItIsCloseToFloat) {
  torch::manual_seed(5);
  CapsuleDecoder decoder(small(), 2);
  const Tensor capsules = torch::randn({4, 3, 4});
  test::expect_close_under_autocast(*decoder, [&] {
    return decoder->forward(capsules, torch::tensor({0, 1, 2, 0}, torch::kInt64));
  });
}

TEST(CapsuleDecoder, RefusesSizesThatDoNotFit) {
  CapsuleDecoderOptions options = small();
  options.images = {12, 10};
  EXPECT_REFUSED(CapsuleDecoder(options, 1), Fault::configuration,
                 "`image_width` (10) must be multiples of it");
  options = small();
  options.kernels = {5, 3};
  EXPECT_REFUSED(CapsuleDecoder(options, 1), Fault::configuration,
                 "`kernels` lists 2 transposed convolutions, but there are 3");
  options = small();
  options.strides.push_back(2);
  EXPECT_REFUSED(CapsuleDecoder(options, 1), Fault::configuration,
                 "`strides` lists 4 transposed convolutions, but there are 3");
  options = small();
  options.kernels[1] = 0;
  EXPECT_REFUSED(CapsuleDecoder(options, 1), Fault::configuration,
                 "kernels at least as large as their strides");
  CapsuleDecoder decoder(small(), 1);
  EXPECT_REFUSED((void)decoder->forward(torch::zeros({1, 4, 4}), torch::zeros({1}, torch::kInt64)),
                 Fault::internal, "the decoder needs 3 capsules of 4 elements");
  EXPECT_REFUSED(
      (void)decoder->forward(torch::zeros({1, 3, 4}), torch::full({1}, 3, torch::kInt64)),
      Fault::data, "category 3 is outside the model's 3 classes");
}

}  // namespace seam::nn::capsule_decoder_test

namespace seam::stages::capsule_decoder_test {

using seam::testing::Harness;
using Sizes = std::vector<std::int64_t>;

const test::Parameters small{{"classes", std::int64_t{3}},        {"capsule_size", std::int64_t{4}},
                             {"image_height", std::int64_t{24}},  {"image_width", std::int64_t{16}},
                             {"dense_channels", std::int64_t{4}}, {"channels", Sizes{5, 6}},
                             {"kernels", Sizes{5, 4, 3}},         {"strides", Sizes{2, 2, 2}}};

Packet batch() {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({4, 3, 24, 16}));
  packet.set(field::capsules, torch::randn({4, 3, 4}));
  packet.set(field::predicted_category, torch::tensor({2, 1, 0, 2}, torch::kInt64));
  packet.set(field::categories, std::vector<std::int64_t>{2, 2, 0, 1});
  return packet;
}

const auto conformance = seam::testing::conformance<CapsuleDecoder>({
    .parameters = small,
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch(), batch()};
        },
    .refused = {{{"image_height", std::int64_t{25}}}, {{"kernels", Sizes{5, 4}}}},
    .without_effect = {{"architecture", "the example sets all that it chooses"}},
});

TEST(CapsuleDecoderStage, DrawsTheCategoryInTrainingAndTheLongestCapsuleInEvaluation) {
  const auto drawn = [](bool training, const Sizes& categories, const Sizes& predicted) {
    Packet packet = batch();
    packet.set(field::categories, categories);
    packet.set(field::predicted_category, torch::tensor(predicted, torch::kInt64));
    return test::output<CapsuleDecoder>(small, packet, training)[field::reconstruction].detach();
  };
  const Sizes a{2, 2, 0, 1};
  const Sizes b{1, 0, 0, 0};
  EXPECT_EQ(drawn(false, a, b).sizes(), (Sizes{4, 3, 24, 16}));
  EXPECT_TRUE(torch::equal(drawn(true, a, b), drawn(true, a, a)));
  EXPECT_FALSE(torch::equal(drawn(true, a, b), drawn(true, b, b)));
  EXPECT_TRUE(torch::equal(drawn(false, a, b), drawn(false, b, b)));
  EXPECT_FALSE(torch::equal(drawn(false, a, b), drawn(false, a, a)));
}

TEST(CapsuleDecoderStage, APictureWithoutACategoryIsRefusedInTraining) {
  test::With<CapsuleDecoder> harness(small);
  Packet packet = batch();
  packet.set(field::categories, Sizes{2, -1, 0, 1});
  harness.training(true).push(packet).finish();
  EXPECT_THAT(only_error(harness).what(), HasSubstr("category -1"));
}

TEST(CapsuleDecoderStage, ArchitecturesHaveTheirPublishedSizes) {
  const auto shapes = [](const char* architecture, std::int64_t side = 224) {
    return test::shapes_of<CapsuleDecoder>({{"architecture", std::string(architecture)},
                                            {"image_height", side},
                                            {"image_width", side},
                                            {"classes", std::int64_t{2}},
                                            {"capsule_size", std::int64_t{16}}});
  };
  auto classifiers = shapes("kernels_9");
  EXPECT_EQ(classifiers["dense.weight"], (Sizes{7 * 7 * 256, 32}));
  EXPECT_EQ(classifiers["conv1.weight"], (Sizes{256, 256, 9, 9}));
  EXPECT_EQ(classifiers["conv2.weight"], (Sizes{256, 128, 9, 9}));
  EXPECT_EQ(classifiers["conv5.weight"], (Sizes{32, 3, 9, 9}));
  EXPECT_FALSE(classifiers.contains("bn5.weight"));
  EXPECT_EQ(shapes("kernels_4")["conv2.weight"], (Sizes{256, 128, 4, 4}));
  auto retrieval = shapes("retrieval", 256);
  EXPECT_EQ(retrieval["dense.weight"], (Sizes{8 * 8 * 256, 32}));
  EXPECT_EQ(retrieval["conv1.weight"], (Sizes{256, 128, 9, 9}));
  EXPECT_EQ(retrieval["conv6.weight"], (Sizes{16, 3, 5, 5}));
}

TEST(Classifiers, HaveTheSizesOfTheThesisAndOfTheReleasedCode) {
  auto stacked = test::shapes_of<SccapsnetCls>({{"preset", std::string("as_published")}});
  EXPECT_EQ(stacked["f.3.c.weight"], (Sizes{256, 64, 7, 7}));
  EXPECT_EQ(stacked["w"], (Sizes{8, 736}));
  auto residual = test::shapes_of<RccapsnetCls>({{"preset", std::string("as_published")}});
  EXPECT_EQ(residual["f.block3.conv2.weight"], (Sizes{256, 256, 3, 3}));
  EXPECT_EQ(residual["w"], (Sizes{8, 736}));
  auto released = test::shapes_of<SccapsnetCls>(
      {{"image_height", std::int64_t{224}}, {"image_width", std::int64_t{224}}});
  EXPECT_EQ(released["f.0.c.weight"], (Sizes{64, 3, 9, 9}));
  EXPECT_EQ(released["f.3.c.weight"], (Sizes{256, 256, 9, 9}));
  EXPECT_EQ(released["f.4.c.weight"], (Sizes{512, 256, 9, 9}));
  EXPECT_EQ(released["w"], (Sizes{3200, 16, 736}));  // 10 x 10 pixels of 32 capsules
  auto later = test::shapes_of<RccapsnetCls>({{"preset", std::string("as_released")}});
  EXPECT_EQ(later["f.stem.c.weight"], (Sizes{32, 3, 7, 7}));
  EXPECT_EQ(later["f.block3.conv2.weight"], (Sizes{256, 256, 3, 3}));
  EXPECT_EQ(later["w"], (Sizes{16, 736}));
}

TEST(Rccapsnet, HasResidualBlocksInBothForms) {
  for (const char* preset : {"as_published", "as_released"}) {
    const auto shapes = test::shapes_of<Rccapsnet>({{"preset", std::string(preset)}});
    EXPECT_EQ(shapes.count("f.block3.conv2.weight"), 1U) << preset;
  }
}

}  // namespace seam::stages::capsule_decoder_test
