#include "stages/model/resnet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/safetensors.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace seam::stages {
namespace resnet_test {

using seam::testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Sizes = std::vector<std::int64_t>;

Packet batch(std::int64_t images = 4, std::int64_t size = 32) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({images, 3, size, size}));
  return packet;
}

const auto conformance = seam::testing::conformance<Resnet>({
    .parameters = {{"blocks", Sizes{1, 1}},
                   {"width", std::int64_t{8}},
                   {"stem", std::string("small_by_2")},
                   {"pooling", std::string("generalised_mean")},
                   {"dimensions", std::int64_t{10}},
                   {"classes", std::int64_t{3}}},
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch(5), batch(3)};
        },
    .refused = {{{"blocks", Sizes{1, 1, 1, 1, 1, 1, 1, 1, 1}}},
                {{"embedding", false}},
                {{"embedding", false}, {"feature_map", true}}},
});

/// Number of elements in the trained weights of a stage with these parameters.
std::int64_t numbers(Harness& harness, Resnet& stage) {
  harness.open();
  std::int64_t sum = 0;
  for (const NamedWeight& weight : stage.weights()) {
    sum += weight.tensor.numel();
  }
  return sum;
}

struct Trial {
  Trial()
      : owned(std::make_unique<Resnet>()), stage(owned.get()), harness("model", std::move(owned)) {}
  std::unique_ptr<Resnet> owned;
  Resnet* stage;
  Harness harness;
};

// torchvision's and timm's own counts, and that of a small network of pytorch-metric-learning
// users.
TEST(Resnet, HasTheNumbersOfThePublishedNetworks) {
  const std::vector<std::pair<std::string, std::int64_t>> published{
      {"resnet18", 11689512}, {"resnet34", 21797672}, {"resnet50", 25557032}};
  for (const auto& [architecture, count] : published) {
    Trial trial;
    trial.harness.set("architecture", architecture.c_str()).set("classes", 1000);
    EXPECT_EQ(numbers(trial.harness, *trial.stage), count) << architecture;
  }
  Trial excited;
  excited.harness.set("architecture", "resnet50")
      .set("classes", 1000)
      .set("squeeze_excitation", true);
  EXPECT_EQ(numbers(excited.harness, *excited.stage), 28088024);
  Trial small;
  small.harness.set("blocks", Value{Sizes{1, 1, 1, 1}})
      .set("width", 32)
      .set("stem", "small_by_2")
      .set("pooling", "generalised_mean")
      .set("dimensions", 368);
  EXPECT_EQ(numbers(small.harness, *small.stage), 1320977);
}

TEST(Resnet, ConvolutionsAreInitialisedAsAskedFor) {
  const auto deviation = [](const char* initialisation) {
    Trial trial;
    trial.harness.set("blocks", Value{Sizes{1, 1}}).set("width", 32);
    if (initialisation != nullptr) trial.harness.set("initialisation", initialisation);
    trial.harness.open();
    for (const NamedWeight& weight : trial.stage->weights()) {
      if (weight.name == "layer2.0.conv1.weight") return weight.tensor.std().item<double>();
    }
    return 0.0;
  };
  // 18,432 weights of a 3x3 convolution from 32 to 64 channels.
  EXPECT_NEAR(deviation("fan_out"), std::sqrt(2.0 / (9 * 64)), 1e-3);
  EXPECT_NEAR(deviation("fan_in"), std::sqrt(1.0 / (3 * 9 * 32)), 1e-3);
  EXPECT_EQ(deviation(nullptr), deviation("fan_out"));
}

TEST(Resnet, ProvidesWhatItIsAskedFor) {
  Trial trial;
  trial.harness.set("architecture", "resnet50")
      .set("blocks", Value{Sizes{1, 1}})
      .set("width", 8)
      .set("classes", 3)
      .set("feature_map", true)
      .push(batch(2, 64));
  ASSERT_THAT(trial.harness.errors(), IsEmpty());
  const Packet& out = trial.harness.outputs().at(0);
  EXPECT_EQ(out[field::embedding].sizes(), (Sizes{2, 64}));
  EXPECT_EQ(out[field::logits].sizes(), (Sizes{2, 3}));
  EXPECT_EQ(out[field::feature_map].sizes(), (Sizes{2, 64, 8, 8}));
  EXPECT_TRUE(torch::allclose(out[field::embedding].norm(2, 1), torch::ones({2})));
  const Tensor pooled = out[field::feature_map].mean({2, 3});
  EXPECT_TRUE(torch::allclose(out[field::embedding], pooled / pooled.norm(2, 1, true), 1e-4, 1e-6));
}

TEST(Resnet, MirroredEmbeddingsAreTheMeanOfBothSides) {
  const auto outputs = [](const Tensor& images, bool mirrored, bool training) {
    Trial trial;
    trial.harness.seed(3).training(training).set("blocks", Value{Sizes{1, 1}}).set("width", 8);
    trial.harness.set("classes", 3).set("mirrored", mirrored);
    Packet packet;
    packet.set(field::images, images);
    trial.harness.push(packet);
    EXPECT_THAT(trial.harness.errors(), IsEmpty());
    return std::pair{trial.harness.outputs().at(0)[field::embedding].detach(),
                     trial.harness.outputs().at(0)[field::logits].detach()};
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

TEST(Resnet, ProvidesTheFeatureMapAlone) {
  Trial trial;
  trial.harness.set("blocks", Value{Sizes{1, 1}})
      .set("width", 8)
      .set("embedding", false)
      .set("feature_map", true)
      .push(batch(2, 64));
  ASSERT_THAT(trial.harness.errors(), IsEmpty());
  EXPECT_TRUE(trial.harness.outputs().at(0).has(field::feature_map));
  EXPECT_FALSE(trial.harness.outputs().at(0).has(field::embedding));
}

TEST(Resnet, TheLastStrideIsThatOfTheLastSize) {
  const auto map_of = [](std::int64_t stride, const Sizes& blocks) {
    Trial trial;
    trial.harness.set("architecture", "resnet50")
        .set("blocks", Value{blocks})
        .set("width", 8)
        .set("feature_map", true)
        .set("last_stride", stride)
        .push(batch(2, 64));
    EXPECT_THAT(trial.harness.errors(), IsEmpty());
    std::vector<std::string> names;
    for (const NamedWeight& weight : trial.stage->weights()) names.push_back(weight.name);
    return std::pair(trial.harness.outputs().at(0)[field::feature_map].sizes().vec(), names);
  };
  const auto usual = map_of(2, {1, 1, 1});
  const auto larger = map_of(1, {1, 1, 1});
  EXPECT_EQ(usual.first, (Sizes{2, 128, 4, 4}));
  EXPECT_EQ(larger.first, (Sizes{2, 128, 8, 8}));
  EXPECT_EQ(usual.second, larger.second) << "published weights fit both";
  EXPECT_EQ(map_of(1, {1}).first, map_of(2, {1}).first) << "the first size is not halved";
}

TEST(Resnet, GeneralisedMeanPoolingIsThePapers) {
  nn::GlobalPooling pool(nn::Pooling::generalised_mean);
  const Tensor map = torch::tensor({1.0, 2.0, 3.0, -4.0}).view({1, 1, 2, 2});
  EXPECT_NEAR(pool(map).item<double>(), std::cbrt((1.0 + 8 + 27) / 4), 1e-5);
}

/// The contents of a file of weights from a stage that was made with `from`.
std::filesystem::path weights_of(const test::TemporaryFolder& folder, Harness& from) {
  from.open();
  Safetensors content;
  content.tensors = from.runner().save().entries();
  const std::vector<std::byte> bytes = safetensors_bytes(content);
  return folder.write("weights.safetensors",
                      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

TEST(Resnet, APublishedClassifierIsLeftOutWhereThereIsNone) {
  const test::TemporaryFolder folder;
  Trial source;
  source.harness.seed(5).set("blocks", Value{Sizes{1, 1}}).set("width", 8).set("classes", 1000);
  const auto file = weights_of(folder, source.harness);
  Trial trial;
  trial.harness.set("blocks", Value{Sizes{1, 1}})
      .set("width", 8)
      .set("weights", file.string())
      .push(batch());
  ASSERT_THAT(trial.harness.errors(), IsEmpty());
  source.harness.push(batch());
  EXPECT_TRUE(torch::equal(trial.harness.outputs().at(0)[field::embedding],
                           source.harness.outputs().at(0)[field::embedding]));
  Trial another;
  another.harness.set("blocks", Value{Sizes{1, 1}})
      .set("width", 8)
      .set("classes", 7)
      .set("weights", file.string());
  try {
    another.harness.open();
    FAIL() << "a classifier of 1000 classes became one of 7";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("fc.weight [1000,16] instead of [7,16]"));
  }
}

}  // namespace resnet_test
}  // namespace seam::stages
