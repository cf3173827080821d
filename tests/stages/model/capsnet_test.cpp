#include "stages/model/capsnet.hpp"

#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>

#include <map>
#include <string>
#include <vector>

#include "stages/nn/squash.hpp"
#include "tests/stages/model/network_testing.hpp"
#include "tests/stages/nn/routing_reference.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::capsnet_test {

using Sizes = std::vector<std::int64_t>;

const test::Parameters small{
    {"classes", std::int64_t{5}},          {"width", std::int64_t{4}},
    {"image_height", std::int64_t{16}},    {"image_width", std::int64_t{14}},
    {"kernel", std::int64_t{5}},           {"primary_kernel", std::int64_t{3}},
    {"primary_capsules", std::int64_t{2}}, {"class_capsule_size", std::int64_t{6}}};

const auto conformance = seam::testing::conformance<Capsnet>({
    .parameters = small,
    .packets = test::batches_of(16, 14),
    .refused = {{{"channels", std::int64_t{2}}},
                {{"image_height", std::int64_t{4}}},
                {{"compat", std::string("routes")}}},
});

TEST(Capsnet, HasThePublishedSizes) {
  EXPECT_EQ(test::shapes_of<Capsnet>(
                {{"image_height", std::int64_t{28}}, {"image_width", std::int64_t{28}}}),
            (std::map<std::string, Sizes>{{"f.0.c.weight", {256, 1, 9, 9}},
                                          {"f.0.c.bias", {256}},
                                          {"f.1.c.weight", {256, 256, 9, 9}},
                                          {"f.1.c.bias", {256}},
                                          {"w", {1'152, 8, 160}}}));
}

TEST(Capsnet, ComputesWhatItIsDescribedAsAndWithCompatWhatThePortsDo) {
  const Tensor images = test::images_of(3, 16, 14)[field::images];
  for (const bool compat : {false, true}) {
    test::With<Capsnet> harness(small);
    harness.set("compat", compat ? "routes_softmax" : "none").push(test::images_of(3, 16, 14));
    ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
    std::map<std::string, Tensor> at = harness.weights_by_name();
    // The usual weights with this error are drawn with a standard deviation of 1.
    EXPECT_EQ(at["w"].abs().max().item<float>() > 2, compat);
    const torch::NoGradGuard no_gradient;
    const Tensor grey =
        0.299 * images.select(1, 0) + 0.587 * images.select(1, 1) + 0.114 * images.select(1, 2);
    Tensor x = torch::relu(torch::conv2d(grey.unsqueeze(1), at["f.0.c.weight"], at["f.0.c.bias"]));
    x = torch::conv2d(x, at["f.1.c.weight"], at["f.1.c.bias"], 2);
    x = nn::squash_reference(x.permute({0, 2, 3, 1}).reshape({3, -1, 8}));
    nn::RoutingOptions routing{.logits = nn::Logits::accumulate};
    if (compat) routing.softmax = nn::RoutingSoftmax::input_capsules;
    const Tensor v = test::route_by_predictions(x, at["w"], 5, routing);
    const Packet& out = harness.outputs().at(0);
    EXPECT_TRUE(torch::allclose(out[field::capsules], v, 1e-4, 1e-5));
    EXPECT_TRUE(torch::allclose(out[field::class_lengths], v.norm(2, {2}), 1e-4, 1e-5));
    EXPECT_TRUE(torch::equal(out[field::embedding], out[field::capsules].flatten(1)));
    EXPECT_TRUE(torch::equal(out[field::predicted_category], out[field::class_lengths].argmax(1)));
    routing.softmax = compat ? nn::RoutingSoftmax::classes : nn::RoutingSoftmax::input_capsules;
    const Tensor other = test::route_by_predictions(x, at["w"], 5, routing);
    EXPECT_FALSE(torch::allclose(v, other, 1e-2, 1e-3));
  }
}

TEST(Capsnet, PicturesOfAnotherSizeAreNamed) {
  test::With<Capsnet> harness(small);
  harness.push(test::images_of(3, 16, 15)).finish();
  EXPECT_THAT(only_error(harness).full_message(), HasSubstr("images"));
}

}  // namespace seam::stages::capsnet_test
