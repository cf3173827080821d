#include "stages/model/fashionnet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/safetensors.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <string>
#include <vector>

#include "stages/landmark_tensors.hpp"

namespace seam::stages {
namespace fashionnet_test {

using seam::testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Sizes = std::vector<std::int64_t>;

Packet batch(std::int64_t images, std::int64_t size = 32) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({images, 3, size, size}));
  return packet;
}

std::vector<Packet> batches(Harness& /*harness*/) {
  return {batch(5), batch(3)};
}

testing::Example example(bool batch_norm) {
  return {.name = batch_norm ? "batch_norm" : "",
          .parameters = {{"channels", Sizes{4, 4, 6, 8, 8}},
                         {"batch_norm", batch_norm},
                         {"image_height", std::int64_t{32}},
                         {"image_width", std::int64_t{32}},
                         {"pose_features", std::int64_t{8}},
                         {"local_features", std::int64_t{8}},
                         {"global_features", std::int64_t{8}},
                         {"fusion_features", std::int64_t{10}},
                         {"classes", std::int64_t{3}},
                         {"attributes", std::int64_t{4}}},
          .packets = batches,
          .refused = {{{"channels", Sizes{4, 4}}}}};
}

const auto conformance = testing::conformance<FashionNet>(example(false));
const auto conformance_with_batch_norm = testing::conformance<FashionNet>(example(true));

std::unique_ptr<Harness> make() {
  auto harness = std::make_unique<Harness>("model", std::make_unique<FashionNet>());
  for (const auto& [name, value] : example(true).parameters) harness->set(name, value);
  return harness;
}

TEST(FashionNetStage, ProvidesWhatItIsAskedFor) {
  const auto harness = make();
  harness->push(batch(2));
  ASSERT_THAT(harness->errors(), IsEmpty());
  const Packet& out = harness->outputs().at(0);
  EXPECT_EQ(out.get(field::embedding).sizes(), (Sizes{2, 10}));
  EXPECT_TRUE(out.get(field::embedding).norm(2, 1).allclose(torch::ones(2)));
  EXPECT_EQ(out.get(field::predicted_landmarks).sizes(), (Sizes{2, 8, 2}));
  EXPECT_EQ(out.get(field::visibility_logits).sizes(), (Sizes{2, 8, 4}));
  EXPECT_EQ(out.get(field::logits).sizes(), (Sizes{2, 3}));
  EXPECT_EQ(out.get(field::attribute_logits).sizes(), (Sizes{2, 4}));

  const auto plain = make();
  plain->set("classes", 0).set("attributes", 0).set("unit_length", false).push(batch(2));
  ASSERT_THAT(plain->errors(), IsEmpty());
  EXPECT_FALSE(plain->outputs().at(0).has(field::logits));
  EXPECT_FALSE(plain->outputs().at(0).has(field::attribute_logits));
  EXPECT_FALSE(plain->outputs().at(0).get(field::embedding).norm(2, 1).allclose(torch::ones(2)));
}

TEST(FashionNetStage, AnImageIsItselfInAnyBatch) {
  const torch::Tensor images = batch(4).get(field::images);
  const auto embedding = [](const torch::Tensor& some) {
    Packet packet;
    packet.set(field::images, some);
    const auto harness = make();
    harness->push(packet);
    return harness->outputs().at(0).get(field::embedding);
  };
  EXPECT_TRUE(
      embedding(images.narrow(0, 2, 1)).allclose(embedding(images).narrow(0, 2, 1), 1e-5, 1e-6));
}

TEST(FashionNetStage, RefusesImagesOfAnotherSize) {
  const auto harness = make();
  harness->push(batch(2, 64));
  ASSERT_EQ(harness->errors().size(), 1U);
  EXPECT_THAT(harness->errors()[0].what(), HasSubstr("set image_height and image_width"));
}

}  // namespace fashionnet_test
}  // namespace seam::stages
