#include "stages/model/capsule_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stages/model/rccapsnet_cls.hpp"
#include "stages/model/sccapsnet_cls.hpp"
#include "stages/reconstruction.hpp"

namespace seam::stages {
namespace capsule_decoder_test {

using seam::testing::Harness;
using ::testing::HasSubstr;
using Sizes = std::vector<std::int64_t>;

const std::map<std::string, Value> small{
    {"classes", std::int64_t{3}},        {"capsule_size", std::int64_t{4}},
    {"image_height", std::int64_t{24}},  {"image_width", std::int64_t{16}},
    {"dense_channels", std::int64_t{4}}, {"channels", Sizes{5, 6}},
    {"kernels", Sizes{5, 4, 3}},         {"strides", Sizes{2, 2, 2}}};

Packet batch() {
  torch::manual_seed(1);
  Packet packet;
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
  const auto drawn = [](bool training, const std::vector<std::int64_t>& categories,
                        const std::vector<std::int64_t>& predicted) {
    Harness harness("decoder", std::make_unique<CapsuleDecoder>());
    for (const auto& [name, value] : small) harness.set(name, value);
    Packet packet = batch();
    packet.set(field::categories, categories);
    packet.set(field::predicted_category, torch::tensor(predicted, torch::kInt64));
    harness.training(training).push(packet).finish();
    EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
    return harness.outputs().at(0)[field::reconstruction].detach();
  };
  const std::vector<std::int64_t> a{2, 2, 0, 1};
  const std::vector<std::int64_t> b{1, 0, 0, 0};
  EXPECT_EQ(drawn(false, a, b).sizes(), (Sizes{4, 3, 24, 16}));
  EXPECT_TRUE(torch::equal(drawn(true, a, b), drawn(true, a, a)));
  EXPECT_FALSE(torch::equal(drawn(true, a, b), drawn(true, b, b)));
  EXPECT_TRUE(torch::equal(drawn(false, a, b), drawn(false, b, b)));
  EXPECT_FALSE(torch::equal(drawn(false, a, b), drawn(false, a, a)));
}

TEST(CapsuleDecoderStage, APictureWithoutACategoryIsRefusedInTraining) {
  Harness harness("decoder", std::make_unique<CapsuleDecoder>());
  for (const auto& [name, value] : small) harness.set(name, value);
  Packet packet = batch();
  packet.set(field::categories, std::vector<std::int64_t>{2, -1, 0, 1});
  harness.training(true).push(packet).finish();
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].what(), HasSubstr("category -1"));
}

TEST(CapsuleDecoderStage, ArchitecturesHaveTheirPublishedSizes) {
  const auto shapes = [](const char* architecture) {
    Harness harness("decoder", std::make_unique<CapsuleDecoder>());
    harness.set("architecture", architecture).set("classes", 2).open();
    std::map<std::string, Sizes> found;
    for (const NamedWeight& weight : dynamic_cast<Trainable&>(harness.runner().stage()).weights()) {
      found[weight.name] = weight.tensor.sizes().vec();
    }
    return found;
  };
  EXPECT_EQ(shapes("kernels_9")["conv2.weight"], (Sizes{256, 128, 9, 9}));
  EXPECT_EQ(shapes("kernels_4")["conv2.weight"], (Sizes{256, 128, 4, 4}));
  auto retrieval = shapes("retrieval");
  EXPECT_EQ(retrieval["dense.weight"], (Sizes{8 * 8 * 256, 32}));
  EXPECT_EQ(retrieval["conv1.weight"], (Sizes{256, 128, 9, 9}));
  EXPECT_EQ(retrieval["conv6.weight"], (Sizes{16, 3, 5, 5}));
}

template <class Stage>
std::map<std::string, Sizes> shapes_of(const char* preset) {
  Harness harness("model", std::make_unique<Stage>());
  harness.set("preset", preset).open();
  std::map<std::string, Sizes> found;
  for (const NamedWeight& weight : dynamic_cast<Trainable&>(harness.runner().stage()).weights()) {
    found[weight.name] = weight.tensor.sizes().vec();
  }
  return found;
}

TEST(Classifiers, HaveTheSizesOfTheThesisAndOfTheReleasedCode) {
  auto stacked = shapes_of<SccapsnetCls>("as_published");
  EXPECT_EQ(stacked["f.3.c.weight"], (Sizes{256, 64, 7, 7}));
  EXPECT_EQ(stacked["w"], (Sizes{8, 736}));
  auto residual = shapes_of<RccapsnetCls>("as_published");
  EXPECT_EQ(residual["f.block3.conv2.weight"], (Sizes{256, 256, 3, 3}));
  EXPECT_EQ(residual["w"], (Sizes{8, 736}));
  auto released = shapes_of<SccapsnetCls>("as_released");
  EXPECT_EQ(released["f.0.c.weight"], (Sizes{64, 3, 9, 9}));
  EXPECT_EQ(released["f.3.c.weight"], (Sizes{256, 256, 9, 9}));
  EXPECT_EQ(released["f.4.c.weight"], (Sizes{512, 256, 9, 9}));
  EXPECT_EQ(released["w"], (Sizes{3200, 16, 736}));  // 10 x 10 pixels of 32 capsules
  auto later = shapes_of<RccapsnetCls>("as_released");
  EXPECT_EQ(later["f.stem.c.weight"], (Sizes{32, 3, 7, 7}));
  EXPECT_EQ(later["f.block3.conv2.weight"], (Sizes{256, 256, 3, 3}));
  EXPECT_EQ(later["w"], (Sizes{16, 736}));
}

}  // namespace capsule_decoder_test
}  // namespace seam::stages
