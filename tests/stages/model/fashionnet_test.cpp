#include "stages/model/fashionnet.hpp"

#include <gmock/gmock.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "stages/landmark_tensors.hpp"
#include "tests/stages/model/network_testing.hpp"

namespace seam::stages::fashionnet_test {

using ::testing::IsEmpty;

using Sizes = std::vector<std::int64_t>;

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
          .packets = test::batches_of(32, 32),
          .refused = {{{"channels", Sizes{4, 4}}}}};
}

const auto conformance = testing::conformance<FashionNet>(example(false));
const auto conformance_with_batch_norm = testing::conformance<FashionNet>(example(true));

TEST(FashionNetStage, ProvidesWhatItIsAskedFor) {
  const Packet batch = test::images_of(2, 32, 32);
  test::With<FashionNet> harness(example(true).parameters);
  harness.push(batch);
  ASSERT_THAT(harness.errors(), IsEmpty());
  const Packet& out = harness.outputs().at(0);
  EXPECT_EQ(out.get(field::embedding).sizes(), (Sizes{2, 10}));
  EXPECT_EQ(out.get(field::predicted_landmarks).sizes(), (Sizes{2, 8, 2}));
  EXPECT_EQ(out.get(field::visibility_logits).sizes(), (Sizes{2, 8, 4}));
  EXPECT_EQ(out.get(field::logits).sizes(), (Sizes{2, 3}));
  EXPECT_EQ(out.get(field::attribute_logits).sizes(), (Sizes{2, 4}));

  test::With<FashionNet> plain(example(true).parameters);
  plain.set("classes", 0).set("attributes", 0).push(batch);
  ASSERT_THAT(plain.errors(), IsEmpty());
  EXPECT_FALSE(plain.outputs().at(0).has(field::logits));
  EXPECT_FALSE(plain.outputs().at(0).has(field::attribute_logits));
}

nn::FashionNetOptions small() {
  nn::FashionNetOptions options;
  options.channels = {3, 4, 5, 6, 7};
  options.image_height = 64;
  options.image_width = 32;
  options.pose_features = 9;
  options.local_features = 10;
  options.global_features = 11;
  options.fusion_features = 12;
  options.classes = 5;
  options.attributes = 4;
  return options;
}

Tensor images(torch::ScalarType type = torch::kFloat32) {
  torch::manual_seed(5);
  return torch::rand({3, 3, 64, 32}, type);
}

/// The network written out again, with LibTorch's functions and the weights by name.
class Again {
 public:
  explicit Again(nn::FashionNetImpl& net) {
    for (const auto& item : net.named_parameters()) weights_[item.key()] = item.value();
  }
  [[nodiscard]] nn::FashionNetOutput forward(const Tensor& x) const {
    Tensor map = convolve(x, "features", {0, 2});
    map = convolve(torch::max_pool2d(map, 2), "features", {5, 7});
    map = convolve(torch::max_pool2d(map, 2), "features", {10, 12, 14});
    map = convolve(torch::max_pool2d(map, 2), "features", {17, 19, 21});
    nn::FashionNetOutput out;
    Tensor pose = branch(map, "conv5_pose", "fc6_pose");
    pose = dense(pose, "fc7_pose").relu();
    out.landmarks = dense(pose, "landmarks").reshape({-1, 8, 2});
    out.visibility_logits = dense(pose, "visibility").reshape({-1, 8, 4});
    const Tensor visible = std::get<1>(out.visibility_logits.max(2)).eq(0);
    const Tensor around = nn::landmark_pooling(map, out.landmarks, visible, {2, 3});
    const Tensor local = dense(around.reshape({x.size(0), -1}), "fc6_local").relu();
    const Tensor both = torch::cat({branch(map, "conv5_global", "fc6_global"), local}, 1);
    const Tensor fusion = dense(both, "fc7_fusion");
    out.embedding = fusion / fusion.norm(2, 1, true);
    out.category_logits = dense(fusion.relu(), "category");
    out.attribute_logits = dense(fusion.relu(), "attributes");
    return out;
  }

 private:
  [[nodiscard]] const Tensor& at(const std::string& name) const { return weights_.at(name); }
  [[nodiscard]] Tensor convolve(Tensor x, const std::string& layers,
                                const std::vector<int>& numbers) const {
    for (const int number : numbers) {
      const std::string name = layers + "." + std::to_string(number);
      x = torch::conv2d(x, at(name + ".weight"), at(name + ".bias"), 1, 1).relu();
    }
    return x;
  }
  [[nodiscard]] Tensor dense(const Tensor& x, const std::string& name) const {
    return x.matmul(at(name + ".weight").t()) + at(name + ".bias");
  }
  [[nodiscard]] Tensor branch(const Tensor& map, const std::string& layers,
                              const std::string& name) const {
    const Tensor last = convolve(torch::max_pool2d(map, 2), layers, {0, 2, 4});
    return dense(torch::max_pool2d(last, 2).reshape({map.size(0), -1}), name).relu();
  }

  std::map<std::string, Tensor> weights_;
};

TEST(FashionNet, IsTheNetworkWrittenDownOnceMore) {
  torch::manual_seed(1);
  nn::FashionNet net(small());
  net->eval();
  const torch::NoGradGuard no_gradient;
  const nn::FashionNetOutput out = net->forward(images());
  const nn::FashionNetOutput again = Again(*net).forward(images());
  EXPECT_GT((out.visibility_logits.argmax(-1) == 0).sum().item<int>(), 0)
      << "no landmark is visible, so nothing is pooled";
  EXPECT_TRUE(out.embedding.allclose(again.embedding, 1e-4, 1e-5));
  EXPECT_TRUE(out.landmarks.allclose(again.landmarks, 1e-4, 1e-5));
  EXPECT_TRUE(out.visibility_logits.allclose(again.visibility_logits, 1e-4, 1e-5));
  EXPECT_TRUE(out.category_logits.allclose(again.category_logits, 1e-4, 1e-5));
  EXPECT_TRUE(out.attribute_logits.allclose(again.attribute_logits, 1e-4, 1e-5));
}

TEST(FashionNet, HasTheNumbersOfVgg) {
  nn::FashionNetOptions options;
  options.pose_features = options.local_features = options.global_features = 1;
  options.fusion_features = 1;
  std::int64_t features = 0;
  std::int64_t last = 0;
  nn::FashionNet net(options);
  for (const auto& item : net->named_parameters()) {
    if (item.key().rfind("features.", 0) == 0) features += item.value().numel();
    if (item.key().rfind("conv5_global.", 0) == 0) last += item.value().numel();
  }
  EXPECT_EQ(features + last, 14714688);  // torchvision's vgg16().features
}

TEST(FashionNet, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(7);
  nn::FashionNetOptions options = small();
  options.image_height = options.image_width = 32;
  nn::FashionNet net(options);
  net->to(torch::kFloat64);
  net->eval();
  const Tensor x = torch::rand({2, 3, 32, 32}, torch::kFloat64);
  const Tensor factors = torch::randn({2, 12}, torch::kFloat64);
  const auto value = [&] {
    const nn::FashionNetOutput out = net->forward(x);
    return (out.embedding * factors).sum() + out.landmarks.square().sum() +
           out.visibility_logits.sin().sum() + out.category_logits.square().sum() +
           out.attribute_logits.sin().sum();
  };
  value().backward();
  const torch::NoGradGuard no_gradient;
  const auto move = [&](const std::vector<Tensor>& direction, double step) {
    const std::vector<Tensor> weights = net->parameters();
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i].add_(direction[i], step);
  };
  // Along directions through all weights at once. A landmark's position and gate are step
  // functions: a small step does not change them.
  constexpr double step = 1e-7;
  for (int trial = 0; trial < 6; ++trial) {
    std::vector<Tensor> direction;
    double expected = 0;
    for (const auto& weight : net->named_parameters()) {
      ASSERT_TRUE(weight.value().grad().defined()) << weight.key();
      direction.push_back(torch::randn_like(weight.value()));
      expected += (direction.back() * weight.value().grad()).sum().item<double>();
    }
    move(direction, step);
    const double above = value().item<double>();
    move(direction, -2 * step);
    const double below = value().item<double>();
    move(direction, step);
    EXPECT_NEAR((above - below) / (2 * step), expected, 1e-4 * std::max(1.0, std::abs(expected)));
  }
}

TEST(FashionNet, WhereNothingIsVisibleTheLocalBranchSeesNothing) {
  torch::manual_seed(1);
  nn::FashionNet net(small());
  net->eval();
  const torch::NoGradGuard no_gradient;
  std::map<std::string, Tensor> weights;
  for (const auto& item : net->named_parameters()) weights[item.key()] = item.value();
  weights.at("visibility.weight").zero_();
  const auto embedding_with = [&](std::int64_t state, double place) {
    weights.at("visibility.bias").zero_().view({8, 4}).select(1, state).fill_(1);
    weights.at("landmarks.bias").fill_(place);
    return net->forward(images()).embedding;
  };
  for (const std::int64_t hidden : {1, 2, 3}) {
    EXPECT_TRUE(embedding_with(hidden, 0.2).equal(embedding_with(hidden, 0.8))) << hidden;
  }
  EXPECT_FALSE(embedding_with(0, 0.2).equal(embedding_with(0, 0.8)));
}

TEST(FashionNet, LandmarksAreFirstGuessedNearTheMiddle) {
  torch::manual_seed(1);
  nn::FashionNetOptions options;
  options.channels = {8, 8, 8, 8, 8};
  options.pose_features = 64;
  nn::FashionNet net(options);
  net->eval();
  const torch::NoGradGuard no_gradient;
  const Tensor places = net->forward(torch::rand({2, 3, 224, 224})).landmarks;
  EXPECT_LT((places - 0.5).abs().mean().item<double>(), 0.25) << "0.5 if the bias is 0";
}

TEST(FashionNet, DropoutIsForTrainingAlone) {
  torch::manual_seed(1);
  nn::FashionNet net(small());
  const auto pass = [&](bool training, int seed) {
    net->train(training);
    torch::manual_seed(seed);
    const torch::NoGradGuard no_gradient;
    const Tensor x = torch::ones({2, 3, 64, 32});
    return net->forward(x).embedding;
  };
  EXPECT_TRUE(pass(false, 1).equal(pass(false, 2)));
  EXPECT_TRUE(pass(true, 1).equal(pass(true, 1)));
  EXPECT_FALSE(pass(true, 1).equal(pass(true, 2)));
}

TEST(FashionNet, RefusesWhatItCannotBe) {
  nn::FashionNetOptions options = small();
  options.image_width = 64;
  EXPECT_REFUSED((void)nn::FashionNet(options)->forward(images()), Fault::configuration,
                 "the images have width 32 and height 64, but the network is for width 64 and "
                 "height 64");
  options = small();
  options.image_height = 31;
  EXPECT_REFUSED(nn::FashionNet{options}, Fault::configuration, "too small");
  options = small();
  options.channels = {64, 128, 256, 512};
  EXPECT_REFUSED(nn::FashionNet{options}, Fault::configuration, "'channels' needs five numbers");
}

}  // namespace seam::stages::fashionnet_test
