#include "stages/model/resnet.hpp"

#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "stages/model/se_resnet50.hpp"
#include "tests/stages/model/network_testing.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::resnet_test {

using Sizes = std::vector<std::int64_t>;
using Trial = test::With<Resnet>;

const auto conformance = seam::testing::conformance<Resnet>({
    .parameters = {{"blocks", Sizes{1, 1}},
                   {"width", std::int64_t{8}},
                   {"stem", std::string("small_by_2")},
                   {"pooling", std::string("generalised_mean")},
                   {"dimensions", std::int64_t{10}},
                   {"classes", std::int64_t{3}}},
    .packets = test::batches_of(32, 32),
    .refused = {{{"blocks", Sizes{1, 1, 1, 1, 1, 1, 1, 1, 1}}},
                {{"embedding", false}},
                {{"embedding", false}, {"feature_map", true}}},
});

const test::Parameters small{{"blocks", Sizes{1, 1}}, {"width", std::int64_t{8}}};

/// Number of elements in the trained weights of a stage with these parameters.
std::int64_t numbers(const test::Parameters& parameters) {
  Trial harness(parameters);
  harness.open();
  std::int64_t sum = 0;
  for (const NamedWeight& weight : harness.weights()) sum += weight.tensor.numel();
  return sum;
}

// torchvision's and timm's own counts, and that of a small network of pytorch-metric-learning
// users.
TEST(Resnet, HasTheNumbersOfThePublishedNetworks) {
  const std::vector<std::pair<std::string, std::int64_t>> published{
      {"resnet18", 11689512}, {"resnet34", 21797672}, {"resnet50", 25557032}};
  const std::int64_t classes = 1000;
  for (const auto& [architecture, count] : published) {
    EXPECT_EQ(numbers({{"architecture", architecture}, {"classes", classes}}), count)
        << architecture;
  }
  EXPECT_EQ(numbers({{"architecture", std::string("resnet50")},
                     {"classes", classes},
                     {"squeeze_excitation", true}}),
            28088024);
  EXPECT_EQ(numbers({{"blocks", Sizes{1, 1, 1, 1}},
                     {"width", std::int64_t{32}},
                     {"stem", std::string("small_by_2")},
                     {"pooling", std::string("generalised_mean")},
                     {"dimensions", std::int64_t{368}}}),
            1320977);
}

TEST(Resnet, ConvolutionsAreInitialisedAsAskedFor) {
  const auto deviation = [](const char* initialisation) {
    Trial trial;
    trial.set("blocks", Value{Sizes{1, 1}}).set("width", 32);
    if (initialisation != nullptr) trial.set("initialisation", initialisation);
    trial.open();
    return trial.weights_by_name().at("layer2.0.conv1.weight").std().item<double>();
  };
  // 18,432 weights of a 3x3 convolution from 32 to 64 channels.
  EXPECT_NEAR(deviation("fan_out"), std::sqrt(2.0 / (9 * 64)), 1e-3);
  EXPECT_NEAR(deviation("fan_in"), std::sqrt(1.0 / (3 * 9 * 32)), 1e-3);
  EXPECT_EQ(deviation(nullptr), deviation("fan_out"));
}

TEST(Resnet, ProvidesWhatItIsAskedFor) {
  Trial trial;
  trial.set("architecture", "resnet50")
      .set("blocks", Value{Sizes{1, 1}})
      .set("width", 8)
      .set("classes", 3)
      .set("feature_map", true)
      .push(test::images_of(2, 64, 64));
  ASSERT_THAT(trial.errors(), IsEmpty());
  const Packet& out = trial.outputs().at(0);
  EXPECT_EQ(out[field::embedding].sizes(), (Sizes{2, 64}));
  EXPECT_EQ(out[field::logits].sizes(), (Sizes{2, 3}));
  EXPECT_EQ(out[field::feature_map].sizes(), (Sizes{2, 64, 8, 8}));
  EXPECT_TRUE(torch::allclose(out[field::embedding].norm(2, 1), torch::ones({2})));
  const Tensor pooled = out[field::feature_map].mean({2, 3});
  EXPECT_TRUE(torch::allclose(out[field::embedding], pooled / pooled.norm(2, 1, true), 1e-4, 1e-6));
}

TEST(Resnet, MirroredEmbeddingsAreTheMeanOfBothSides) {
  const auto outputs = [](const Tensor& images, bool mirrored, bool training) {
    Trial trial(small);
    trial.seed(3).training(training).set("classes", 3).set("mirrored", mirrored);
    Packet packet;
    packet.set(field::images, images);
    trial.push(packet);
    EXPECT_THAT(trial.errors(), IsEmpty());
    return std::pair{trial.outputs().at(0)[field::embedding].detach(),
                     trial.outputs().at(0)[field::logits].detach()};
  };
  torch::manual_seed(1);
  const Tensor images = torch::rand({2, 3, 64, 48});
  const auto [plain, logits] = outputs(images, false, false);
  const auto [flipped, flipped_logits] = outputs(images.flip(3), false, false);
  const auto [both, both_logits] = outputs(images, true, false);
  const Tensor mean = plain + flipped;
  EXPECT_TRUE(torch::allclose(both, mean / mean.norm(2, 1, true), 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(both_logits, (logits + flipped_logits) / 2, 1e-5, 1e-6));
  EXPECT_FALSE(torch::allclose(both, plain, 1e-3, 1e-4));
  EXPECT_TRUE(torch::equal(outputs(images, true, true).first, outputs(images, false, true).first));
}

TEST(Resnet, LogitsAreMirroredWithoutAnEmbeddingToo) {
  const auto logits = [](bool embedding) {
    Trial trial(small);
    trial.seed(3).set("classes", 3).set("mirrored", true).set("feature_map", true);
    trial.set("embedding", embedding).push(test::images_of(2, 64, 48));
    EXPECT_THAT(trial.errors(), IsEmpty());
    return trial.outputs().at(0)[field::logits].detach();
  };
  EXPECT_TRUE(torch::equal(logits(false), logits(true)));
}

TEST(Resnet, TheLastStrideIsThatOfTheLastSize) {
  const auto map_of = [](std::int64_t stride, const Sizes& blocks) {
    Trial trial;
    trial.set("architecture", "resnet50").set("blocks", Value{blocks}).set("width", 8);
    trial.set("feature_map", true).set("last_stride", stride).push(test::images_of(2, 64, 64));
    EXPECT_THAT(trial.errors(), IsEmpty());
    return std::pair(trial.outputs().at(0)[field::feature_map].sizes().vec(),
                     trial.names_of_weights());
  };
  const auto usual = map_of(2, {1, 1, 1});
  const auto larger = map_of(1, {1, 1, 1});
  EXPECT_EQ(usual.first, (Sizes{2, 128, 4, 4}));
  EXPECT_EQ(larger.first, (Sizes{2, 128, 8, 8}));
  EXPECT_EQ(usual.second, larger.second) << "published weights fit both";
  EXPECT_EQ(map_of(1, {1}).first, map_of(2, {1}).first) << "the first size is not halved";
}

/// A stage without a classifier on the weights of one with.
template <class Stage>
void expect_classifier_left_out(const char* classifier) {
  const test::TemporaryFolder folder;
  test::With<Stage> source(small);
  source.seed(5).set("classes", 1000).push(test::images_of(4, 32, 32));
  const auto file = test::saved_weights(folder, source.runner().save()).string();
  test::With<Stage> trial(small);
  trial.set("weights", file).push(test::images_of(4, 32, 32));
  ASSERT_THAT(trial.errors(), IsEmpty());
  EXPECT_TRUE(torch::equal(trial.outputs().at(0)[field::embedding],
                           source.outputs().at(0)[field::embedding]));
  test::With<Stage> another(small);
  another.set("classes", 7).set("weights", file);
  EXPECT_REFUSED(another.open(), Fault::configuration, classifier);
}

TEST(Resnet, APublishedClassifierIsLeftOutWhereThereIsNone) {
  expect_classifier_left_out<Resnet>("fc.weight [1000,16] instead of [7,16]");
  expect_classifier_left_out<SeResnet50>("last_linear.weight [1000,64] instead of [7,64]");
}

}  // namespace seam::stages::resnet_test
