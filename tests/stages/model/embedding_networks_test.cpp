/// Properties of all networks that make embeddings of images.
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "stages/model/alexnet.hpp"
#include "stages/model/cnn_embedding.hpp"
#include "stages/model/inception.hpp"
#include "stages/model/lenet.hpp"
#include "stages/model/resnet.hpp"
#include "stages/model/scn.hpp"
#include "stages/model/se_resnet50.hpp"
#include "tests/stages/model/network_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::embedding_networks_test {

using seam::testing::Harness;

using test::Parameters;
using Sizes = std::vector<std::int64_t>;

struct Network {
  std::string name;
  std::function<std::unique_ptr<Stage>()> stage;
  Parameters parameters;
  std::int64_t height, width;  ///< of the smallest images
  std::string refusal;         ///< of images that are one pixel lower; empty if there are none
};

std::ostream& operator<<(std::ostream& out, const Network& network) {
  return out << network.name;
}

template <class S>
Network small(const char* name, std::int64_t height, std::int64_t width, const char* refusal,
              const Parameters& parameters) {
  return {name, [] { return std::make_unique<S>(); }, parameters, height, width, refusal};
}

std::vector<Network> networks() {
  const std::int64_t few = 6;
  const std::int64_t side = 32;
  return {
      small<AlexNet>("alexnet", 63, 63, "too small for AlexNet; resize them to at least 63x63",
                     {{"channels", Sizes{4, 4, 4, 4, 4}}, {"hidden", few}, {"dimensions", few}}),
      small<CnnEmbedding>("cnn_embedding", 1, 1, "",
                          {{"width", few}, {"channels", 2 * few}, {"dimensions", few}}),
      small<Inception>("inception", 27, 27, "resize them to at least 27x27",
                       {{"blocks", std::int64_t{2}}, {"width", 0.1}, {"dimensions", few}}),
      small<LeNet>("lenet", 16, 17, "the network is for images of 17x16 (width x height)",
                   {{"image_height", std::int64_t{16}}, {"image_width", std::int64_t{17}}}),
      small<Resnet>("resnet", 1, 1, "",
                    {{"blocks", Sizes{1, 1}}, {"width", few}, {"dimensions", few}}),
      small<Scn>("scn", 29, side, "but the network has weights for the",
                 {{"image_height", std::int64_t{29}},
                  {"image_width", side},
                  {"kernel", std::int64_t{5}},
                  {"primary_kernel", std::int64_t{3}},
                  {"width", few},
                  {"primary_capsules", few},
                  {"dimensions", few}}),
      small<SeResnet50>("se_resnet50", 3, 3, "at least 3x3 pixels",
                        {{"blocks", Sizes{1, 1}}, {"width", few}})};
}

class EmbeddingNetwork : public ::testing::TestWithParam<Network> {
 protected:
  static std::unique_ptr<Harness> harness() {
    auto made = std::make_unique<Harness>("model", GetParam().stage());
    for (const auto& [name, value] : GetParam().parameters) made->set(name, value);
    return made;
  }

  /// Embeddings of images, by a new network with the same weights each time.
  static Tensor embedding(const Tensor& images, bool unit_length = true) {
    const std::unique_ptr<Harness> made = harness();
    Packet packet;
    packet.set(field::images, images);
    made->set("unit_length", unit_length).push(packet);
    EXPECT_THAT(made->errors(), IsEmpty());
    return made->outputs().at(0)[field::embedding].detach();
  }

  static Tensor images(std::int64_t count, std::int64_t height) {
    return test::images_of(count, height, GetParam().width)[field::images];
  }
};

TEST_P(EmbeddingNetwork, GivesVectorsOfUnitLengthUnlessToldOtherwise) {
  const Tensor smallest = images(3, GetParam().height);
  const Tensor unit = embedding(smallest);
  const Tensor raw = embedding(smallest, false);
  EXPECT_TRUE(torch::allclose(unit.norm(2, 1), torch::ones({3})));
  EXPECT_FALSE(torch::allclose(raw.norm(2, 1), torch::ones({3})));
  EXPECT_TRUE(torch::allclose(raw / raw.norm(2, 1, true), unit, 1e-4, 1e-5));
}

TEST_P(EmbeddingNetwork, ScalesToUnitLengthInFloat32WhateverItsPrecision) {
  const std::unique_ptr<Harness> made = harness();
  made->set("precision", "bfloat16").push(test::images_of(3, GetParam().height, GetParam().width));
  ASSERT_THAT(made->errors(), IsEmpty());
  const Tensor embedding = made->outputs().at(0)[field::embedding].detach();
  EXPECT_EQ(embedding.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::allclose(embedding.norm(2, 1), torch::ones({3}), 1e-6, 1e-6))
      << embedding.norm(2, 1);
}

TEST_P(EmbeddingNetwork, GivesAnImageTheSameEmbeddingInAnyBatch) {
  const Tensor several = images(4, GetParam().height);
  const Tensor together = embedding(several);
  EXPECT_TRUE(
      torch::allclose(embedding(several.narrow(0, 2, 1)), together.narrow(0, 2, 1), 1e-5, 1e-6));
  EXPECT_FALSE(torch::equal(together[0], together[2]));
}

TEST_P(EmbeddingNetwork, RefusesSmallerImages) {
  if (GetParam().refusal.empty()) return;
  const std::unique_ptr<Harness> made = harness();
  made->push(test::images_of(1, GetParam().height - 1, GetParam().width));
  EXPECT_THAT(only_error(*made).full_message(), HasSubstr(GetParam().refusal));
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddingNetwork, ::testing::ValuesIn(networks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace seam::stages::embedding_networks_test
