#include "stages/model/capsnet.hpp"

#include <gmock/gmock.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stages/model/dense_decoder.hpp"
#include "stages/nn/squash.hpp"
#include "stages/reconstruction.hpp"

namespace seam::stages::capsnet_test {

using seam::testing::Harness;
using ::testing::HasSubstr;
using Numbers = std::map<std::string, std::int64_t>;

Packet batch() {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({3, 3, 16, 14}));
  return packet;
}

const std::map<std::string, Value> small{
    {"classes", std::int64_t{5}},          {"width", std::int64_t{4}},
    {"image_height", std::int64_t{16}},    {"image_width", std::int64_t{14}},
    {"kernel", std::int64_t{5}},           {"primary_kernel", std::int64_t{3}},
    {"primary_capsules", std::int64_t{2}}, {"class_capsule_size", std::int64_t{6}}};

const auto conformance = seam::testing::conformance<Capsnet>({
    .parameters = small,
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch(), batch()};
        },
    .refused = {{{"channels", std::int64_t{2}}},
                {{"image_height", std::int64_t{4}}},
                {{"compat", std::string("routes")}}},
});

Packet decoder_batch() {
  torch::manual_seed(2);
  Packet packet;
  packet.set(field::capsules, torch::randn({3, 4, 5}));
  packet.set(field::predicted_category, torch::tensor({2, 1, 3}, torch::kInt64));
  packet.set(field::categories, std::vector<std::int64_t>{2, 0, 1});
  return packet;
}

const std::map<std::string, Value> small_decoder{{"classes", std::int64_t{4}},
                                                 {"capsule_size", std::int64_t{5}},
                                                 {"hidden", std::vector<std::int64_t>{6, 7}},
                                                 {"image_height", std::int64_t{8}},
                                                 {"image_width", std::int64_t{9}}};

const auto decoder_conformance = seam::testing::conformance<DenseDecoder>({
    .parameters = small_decoder,
    .packets =
        [](Harness&) {
          return std::vector<Packet>{decoder_batch(), decoder_batch()};
        },
    .refused = {{{"channels", std::int64_t{2}}}},
});

Numbers numbers_of(Harness& harness) {
  Numbers numbers;
  for (const NamedWeight& weight : dynamic_cast<Trainable&>(harness.runner().stage()).weights()) {
    numbers[weight.name] = weight.tensor.numel();
  }
  return numbers;
}

TEST(Capsnet, HasThePublishedNumbersLayerByLayer) {
  Harness network("model", std::make_unique<Capsnet>());
  network.open();
  Harness decoder("decoder", std::make_unique<DenseDecoder>());
  decoder.set("classes", 10).set("capsule_size", 16).open();
  const Numbers of_network = numbers_of(network);
  const Numbers of_decoder = numbers_of(decoder);
  EXPECT_EQ(of_network, (Numbers{{"f.0.c.weight", 256 * 81},
                                 {"f.0.c.bias", 256},
                                 {"f.1.c.weight", 256 * 256 * 81},
                                 {"f.1.c.bias", 256},
                                 {"w", 1'152 * 8 * 160}}));
  EXPECT_EQ(of_decoder, (Numbers{{"0.weight", 160 * 512},
                                 {"0.bias", 512},
                                 {"1.weight", 512 * 1'024},
                                 {"1.bias", 1'024},
                                 {"2.weight", 1'024 * 784},
                                 {"2.bias", 784}}));
  std::int64_t sum = 0;
  for (const Numbers& part : {of_network, of_decoder}) {
    for (const auto& [name, count] : part) sum += count;
  }
  EXPECT_EQ(sum, 8'215'568);
}

std::unique_ptr<Harness> opened(const std::map<std::string, Value>& more) {
  auto harness = std::make_unique<Harness>("model", std::make_unique<Capsnet>());
  for (const auto& [name, value] : small) harness->set(name, value);
  for (const auto& [name, value] : more) harness->set(name, value);
  return harness;
}

/// The whole network in LibTorch's operations, with the softmax over `axis` of logits [B,N,K].
std::vector<Tensor> as_described(const std::map<std::string, Tensor>& at, const Tensor& images,
                                 std::int64_t axis) {
  const Tensor grey =
      0.299 * images.select(1, 0) + 0.587 * images.select(1, 1) + 0.114 * images.select(1, 2);
  Tensor x =
      torch::relu(torch::conv2d(grey.unsqueeze(1), at.at("f.0.c.weight"), at.at("f.0.c.bias")));
  x = torch::conv2d(x, at.at("f.1.c.weight"), at.at("f.1.c.bias"), 2);
  x = nn::squash_reference(x.permute({0, 2, 3, 1}).reshape({x.size(0), -1, 8}));
  const Tensor predicted =
      torch::einsum("bnd,ndk->bnk", {x, at.at("w")}).view({x.size(0), x.size(1), 5, 6});
  Tensor logits = torch::zeros({x.size(0), x.size(1), 5});
  Tensor v;
  for (int t = 0; t < 3; ++t) {
    v = nn::squash_reference((torch::softmax(logits, axis).unsqueeze(-1) * predicted).sum(1));
    logits = logits + (predicted * v.unsqueeze(1)).sum(-1);
  }
  return {v, v.norm(2, {2})};
}

TEST(Capsnet, ComputesWhatItIsDescribedAsAndWithCompatWhatThePortsDo) {
  for (const bool compat : {false, true}) {
    const auto harness = opened({{"compat", std::string(compat ? "routes_softmax" : "none")}});
    harness->push(batch());
    ASSERT_TRUE(harness->errors().empty()) << harness->errors()[0].full_message();
    std::map<std::string, Tensor> weights;
    for (const NamedWeight& weight :
         dynamic_cast<Trainable&>(harness->runner().stage()).weights()) {
      weights[weight.name] = weight.tensor.detach();
    }
    // The usual weights with this error are drawn with a standard deviation of 1.
    EXPECT_EQ(weights["w"].abs().max().item<float>() > 2, compat);
    const torch::NoGradGuard no_gradient;
    const Packet& out = harness->outputs().at(0);
    const std::vector<Tensor> right = as_described(weights, batch()[field::images], 2);
    const std::vector<Tensor> wrong = as_described(weights, batch()[field::images], 1);
    const std::vector<Tensor>& expected = compat ? wrong : right;
    EXPECT_TRUE(torch::allclose(out[field::capsules], expected[0], 1e-4, 1e-5));
    EXPECT_TRUE(torch::allclose(out[field::class_lengths], expected[1], 1e-4, 1e-5));
    EXPECT_TRUE(torch::equal(out[field::embedding], out[field::capsules].flatten(1)));
    EXPECT_TRUE(torch::equal(out[field::predicted_category], out[field::class_lengths].argmax(1)));
    EXPECT_FALSE(torch::allclose(right[0], wrong[0], 1e-2, 1e-3));
  }
}

TEST(Capsnet, PicturesOfAnotherSizeAreNamed) {
  const auto harness = opened({{"image_width", std::int64_t{15}}});
  harness->push(batch()).finish();
  ASSERT_EQ(harness->errors().size(), 1U);
  EXPECT_THAT(harness->errors()[0].full_message(), HasSubstr("images"));
}

TEST(Capsnet, ALossOnTheLengthsTrainsAllOfItsWeights) {
  const auto harness = opened({});
  harness->training(true).push(batch());
  ASSERT_TRUE(harness->errors().empty()) << harness->errors()[0].full_message();
  const at::AutoGradMode gradients(true);
  (harness->outputs().at(0)[field::class_lengths] - 0.9).square().sum().backward();
  for (const NamedWeight& weight : dynamic_cast<Trainable&>(harness->runner().stage()).weights()) {
    EXPECT_TRUE(weight.tensor.grad().defined()) << weight.name;
  }
}

TEST(DenseDecoderStage, DrawsTheCategoryInTrainingAndTheLongestCapsuleInEvaluation) {
  const auto drawn = [](bool training, const std::vector<std::int64_t>& categories) {
    Harness harness("decoder", std::make_unique<DenseDecoder>());
    for (const auto& [name, value] : small_decoder) harness.set(name, value);
    Packet packet = decoder_batch();
    packet.set(field::categories, categories);
    harness.training(training).push(packet).finish();
    EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
    return harness.outputs().at(0)[field::reconstruction].detach();
  };
  EXPECT_EQ(drawn(false, {0, 0, 0}).sizes(), (std::vector<std::int64_t>{3, 3, 8, 9}));
  EXPECT_TRUE(torch::equal(drawn(false, {0, 0, 0}), drawn(false, {1, 2, 3})));
  EXPECT_TRUE(torch::equal(drawn(true, {2, 1, 3}), drawn(false, {0, 0, 0})));
  EXPECT_FALSE(torch::equal(drawn(true, {0, 0, 0}), drawn(false, {0, 0, 0})));
}

}  // namespace seam::stages::capsnet_test
