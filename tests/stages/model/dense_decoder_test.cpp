#include "stages/model/dense_decoder.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>

#include <map>
#include <string>
#include <vector>

#include "stages/reconstruction.hpp"
#include "tests/stages/model/network_testing.hpp"
#include "tests/stages/nn/network_properties.hpp"

namespace seam::stages::dense_decoder_test {

using Sizes = std::vector<std::int64_t>;

Packet batch(const Sizes& categories = {2, 0, 1}) {
  torch::manual_seed(2);
  Packet packet;
  packet.set(field::images, torch::rand({3, 3, 8, 9}));
  packet.set(field::capsules, torch::randn({3, 4, 5}));
  packet.set(field::predicted_category, torch::tensor({2, 1, 3}, torch::kInt64));
  packet.set(field::categories, categories);
  return packet;
}

const test::Parameters small{{"classes", std::int64_t{4}},
                             {"capsule_size", std::int64_t{5}},
                             {"hidden", Sizes{6, 7}},
                             {"image_height", std::int64_t{8}},
                             {"image_width", std::int64_t{9}}};

const auto conformance = seam::testing::conformance<DenseDecoder>({
    .parameters = small,
    .packets =
        [](seam::testing::Harness&) {
          return std::vector<Packet>{batch(), batch()};
        },
    .refused = {{{"channels", std::int64_t{2}}}},
});

TEST(DenseDecoder, HasTheLayersOfTheFirstCapsuleNetwork) {
  EXPECT_EQ(test::shapes_of<DenseDecoder>({{"classes", std::int64_t{10}},
                                           {"capsule_size", std::int64_t{16}},
                                           {"image_height", std::int64_t{28}},
                                           {"image_width", std::int64_t{28}}}),
            (std::map<std::string, Sizes>{{"0.weight", {512, 160}},
                                          {"0.bias", {512}},
                                          {"1.weight", {1'024, 512}},
                                          {"1.bias", {1'024}},
                                          {"2.weight", {784, 1'024}},
                                          {"2.bias", {784}}}));
}

TEST(DenseDecoder, DrawsTheCategoryInTrainingAndTheLongestCapsuleInEvaluation) {
  const auto drawn = [](bool training, const Sizes& categories) {
    return test::output<DenseDecoder>(small, batch(categories), training)[field::reconstruction]
        .detach();
  };
  EXPECT_EQ(drawn(false, {0, 0, 0}).sizes(), (Sizes{3, 3, 8, 9}));
  EXPECT_TRUE(torch::equal(drawn(false, {0, 0, 0}), drawn(false, {1, 2, 3})));
  EXPECT_TRUE(torch::equal(drawn(true, {2, 1, 3}), drawn(false, {0, 0, 0})));
  EXPECT_FALSE(torch::equal(drawn(true, {0, 0, 0}), drawn(false, {0, 0, 0})));
}

nn::DenseDecoderOptions options(std::int64_t channels) {
  nn::DenseDecoderOptions options;
  options.classes = 3;
  options.capsule_size = 4;
  options.hidden = {5, 6};
  options.channels = channels;
  options.images = {2, 3};
  return options;
}

TEST(DenseDecoder, DrawsTheKeptCapsuleByItsLayersWithGradientsOfFiniteDifferences) {
  torch::manual_seed(1);
  const Tensor capsules = torch::randn({4, 3, 4}, torch::kFloat64).requires_grad_();
  const Tensor categories = torch::tensor({2, 0, 1, 2}, torch::kInt64);
  for (const std::int64_t channels : {1, 3}) {
    nn::DenseDecoder decoder(options(channels), 2);
    decoder->to(torch::kFloat64);
    const Tensor picture = decoder->forward(capsules, categories);
    ASSERT_EQ(picture.sizes(), (Sizes{4, 3, 2, 3}));
    auto at = decoder->named_parameters();
    for (std::int64_t row = 0; row < 4; ++row) {
      Tensor x = torch::zeros({12}, torch::kFloat64);
      const auto kept = categories[row].item<std::int64_t>();
      x.narrow(0, 4 * kept, 4).copy_(capsules[row][kept].detach());
      x = torch::relu(at["0.weight"].matmul(x) + at["0.bias"]);
      x = torch::relu(at["1.weight"].matmul(x) + at["1.bias"]);
      x = torch::sigmoid(at["2.weight"].matmul(x) + at["2.bias"]).view({channels, 2, 3});
      EXPECT_TRUE(torch::allclose(picture[row], x.expand({3, 2, 3}), 1e-10, 1e-12));
    }
    test::expect_gradients([&] { return decoder->forward(capsules, categories).square().sum(); },
                           test::with_weights({capsules}, *decoder));
  }
}

TEST(DenseDecoder, RefusesSizesThatMakeNoPicture) {
  EXPECT_REFUSED(nn::DenseDecoder(options(2), 1), Fault::configuration, "1 or 3 channels");
  nn::DenseDecoderOptions none = options(1);
  none.hidden = {0};
  EXPECT_REFUSED(nn::DenseDecoder(none, 1), Fault::configuration, "sizes of at least 1");
}

}  // namespace seam::stages::dense_decoder_test
