#include "stages/model/descriptors.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "tests/stages/model/network_testing.hpp"
#include "tests/stages/nn/network_properties.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::descriptors_test {

using seam::testing::Harness;

Packet batch(std::int64_t images) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::feature_map, torch::rand({images, 8, 4, 3}));
  return packet;
}

std::vector<Packet> batches(Harness& /*harness*/) {
  return {batch(5), batch(3)};
}

const auto conformance = seam::testing::conformance<Descriptors>({
    .parameters = {{"channels", std::int64_t{8}},
                   {"descriptors", std::vector<std::string>{"gem", "spoc", "mac", "gemmp"}},
                   {"dimensions", std::int64_t{6}},
                   {"classes", std::int64_t{3}}},
    .packets = batches,
    .refused = {{{"descriptors", std::vector<std::string>{}}},
                {{"descriptors", std::vector<std::string>{"rmac"}}}},
});

const auto flat_conformance = seam::testing::conformance<Descriptors>({
    .name = "flat",
    .parameters = {{"channels", std::int64_t{8}},
                   {"descriptors", std::vector<std::string>{"flat"}},
                   {"dimensions", std::int64_t{6}},
                   {"map_height", std::int64_t{4}},
                   {"map_width", std::int64_t{3}}},
    .packets = batches,
    .refused = {{{"map_height", std::int64_t{0}}}},
});

TEST(Descriptors, ProvideWhatTheyAreAskedFor) {
  test::With<Descriptors> harness;
  harness.set("channels", 8)
      .set("descriptors", Value{std::vector<std::string>{"mac", "gemmp"}})
      .set("dimensions", 5)
      .set("classes", 7)
      .push(batch(4));
  ASSERT_THAT(harness.errors(), IsEmpty());
  EXPECT_EQ(harness.outputs().at(0)[field::embedding].sizes(), (std::vector<std::int64_t>{4, 10}));
  EXPECT_EQ(harness.outputs().at(0)[field::logits].sizes(), (std::vector<std::int64_t>{4, 7}));
  EXPECT_THAT(harness.names_of_weights(),
              UnorderedElementsAre("projection1.weight", "pool2.p", "projection2.weight",
                                   "bn.weight", "bn.bias", "fc.weight", "fc.bias"));
}

nn::GlobalDescriptorsOptions options() {
  nn::GlobalDescriptorsOptions options;
  options.channels = 6;
  options.descriptors = {nn::Pooling::generalised_mean, nn::Pooling::average, nn::Pooling::maximum};
  options.dimensions = 4;
  options.classes = 5;
  return options;
}

TEST(GlobalDescriptors, AreUnitVectorsSideBySide) {
  torch::manual_seed(1);
  nn::GlobalDescriptors net(options());
  net->eval();
  const Tensor map = torch::rand({2, 6, 3, 3});
  const nn::DescriptorsOutput output = net(map);
  EXPECT_EQ(output.embedding.sizes(), (std::vector<std::int64_t>{2, 12}));
  EXPECT_EQ(output.logits.sizes(), (std::vector<std::int64_t>{2, 5}));
  EXPECT_TRUE(torch::allclose(output.embedding.norm(2, 1), torch::ones({2})));
  const auto parameters = net->named_parameters();
  const std::vector<Tensor> pooled{map.clamp_min(1e-6).pow(3).mean({2, 3}).pow(1.0 / 3),
                                   map.mean({2, 3}), map.amax({2, 3})};
  for (std::size_t at = 0; at < pooled.size(); ++at) {
    const Tensor projected =
        pooled[at].matmul(parameters["projection" + std::to_string(at + 1) + ".weight"].t());
    const Tensor expected = projected / projected.norm(2, 1, true) / std::sqrt(3.0);
    EXPECT_TRUE(torch::allclose(output.embedding.narrow(1, static_cast<std::int64_t>(at) * 4, 4),
                                expected, 1e-4, 1e-6));
  }
  // In evaluation, batch normalisation with the initial statistics has almost no effect.
  EXPECT_TRUE(torch::allclose(output.logits,
                              pooled[0].matmul(parameters["fc.weight"].t()) + parameters["fc.bias"],
                              1e-3, 1e-4));
}

TEST(GlobalDescriptors, AreUnitVectorsAloneWhereAskedFor) {
  nn::GlobalDescriptorsOptions together;
  together.channels = 6;
  together.descriptors = {nn::Pooling::average, nn::Pooling::maximum, nn::Pooling::average};
  nn::GlobalDescriptorsOptions each = together;
  each.unit_length = nn::UnitLength::each;
  torch::manual_seed(4);
  const Tensor map = torch::rand({5, 6, 3, 3});
  const Tensor embedding = nn::GlobalDescriptors(each)(map).embedding;
  EXPECT_TRUE(torch::allclose(embedding.view({5, 3, 6}).norm(2, 2), torch::ones({5, 3})));
  EXPECT_TRUE(torch::allclose(
      embedding, nn::GlobalDescriptors(together)(map).embedding * std::sqrt(3), 1e-5, 1e-6));
}

TEST(GlobalDescriptors, TheFlatOneSeesWhereAPixelIs) {
  nn::GlobalDescriptorsOptions flat = options();
  flat.descriptors = {nn::Pooling::none, nn::Pooling::average};
  flat.map_height = 3;
  flat.map_width = 2;
  torch::manual_seed(2);
  nn::GlobalDescriptors net(flat);
  net->eval();
  const Tensor map = torch::rand({2, 6, 3, 2});
  const nn::DescriptorsOutput output = net(map);
  const auto parameters = net->named_parameters();
  EXPECT_EQ(output.embedding.size(1), flat.length());
  const Tensor dense =
      torch::einsum("nchw,echw->ne", {map, parameters["projection1.weight"].view({4, 6, 3, 2})});
  EXPECT_TRUE(torch::allclose(output.embedding.narrow(1, 0, 4),
                              dense / dense.norm(2, 1, true) / std::sqrt(2.0), 1e-4, 1e-6));
  EXPECT_TRUE(torch::allclose(
      output.logits, map.flatten(1).matmul(parameters["fc.weight"].t()) + parameters["fc.bias"],
      1e-3, 1e-4));
  flat.dimensions = 0;
  EXPECT_EQ(nn::GlobalDescriptors(flat)(map).embedding.size(1), 6 * 3 * 2 + 6);
  EXPECT_EQ(flat.length(), 6 * 3 * 2 + 6);
}

TEST(GlobalDescriptors, WithoutProjectionAndClassesHaveNoWeights) {
  nn::GlobalDescriptorsOptions bare;
  bare.channels = 6;
  bare.descriptors = {nn::Pooling::average, nn::Pooling::maximum};
  nn::GlobalDescriptors net(bare);
  EXPECT_TRUE(net->parameters().empty());
  const nn::DescriptorsOutput output = net(torch::rand({2, 6, 3, 3}));
  EXPECT_EQ(output.embedding.size(1), bare.length());
  EXPECT_FALSE(output.logits.defined());
}

TEST(GlobalDescriptors, WhatDoesNotFitIsRefused) {
  nn::GlobalDescriptorsOptions none = options();
  none.descriptors.clear();
  EXPECT_REFUSED(nn::GlobalDescriptors{none}, Fault::configuration, "at least one descriptor");
  nn::GlobalDescriptors net(options());
  EXPECT_REFUSED((void)net(torch::rand({2, 5, 3, 3})), Fault::configuration,
                 "the feature map is [2, 5, 3, 3]");
  EXPECT_REFUSED((void)net(torch::rand({2, 6})), Fault::configuration, "the feature map is [2, 6]");
  nn::GlobalDescriptorsOptions sized = options();
  sized.map_height = 3;
  sized.map_width = 2;
  EXPECT_REFUSED(nn::GlobalDescriptors{sized}, Fault::configuration, "remove them");
  sized.descriptors.push_back(nn::Pooling::none);
  EXPECT_REFUSED((void)nn::GlobalDescriptors(sized)(torch::rand({2, 6, 2, 3})),
                 Fault::configuration, "is for 2x3");
  sized.map_width = 0;
  EXPECT_REFUSED(nn::GlobalDescriptors{sized}, Fault::configuration,
                 "set `map_height` and `map_width`");
}

TEST(GlobalDescriptors, HaveTheSameBytesForAnyNumberOfThreads) {
  nn::GlobalDescriptorsOptions all = options();
  all.channels = 256;
  all.dimensions = 96;
  all.classes = 101;
  all.descriptors = {nn::Pooling::average, nn::Pooling::generalised_mean,
                     nn::Pooling::generalised_mean_by_channel, nn::Pooling::maximum};
  torch::manual_seed(3);
  test::expect_same_bytes_for_any_threads(
      [&] { return nn::GlobalDescriptors(all); }, {torch::rand({37, 256, 7, 5}).requires_grad_()},
      [](nn::GlobalDescriptors& net, const std::vector<Tensor>& inputs) {
        const nn::DescriptorsOutput output = net(inputs[0]);
        return std::vector<Tensor>{output.embedding, output.logits};
      });
}

}  // namespace seam::stages::descriptors_test
