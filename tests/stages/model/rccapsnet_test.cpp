#include "stages/model/rccapsnet.hpp"

#include <gmock/gmock.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace seam::stages::rccapsnet_test {

using seam::testing::Harness;
using ::testing::HasSubstr;

/// Two triplets; the categories of negatives differ from those of their anchors.
Packet training_batch() {
  using enum Role;
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({6, 3, 32, 32}));
  packet.set(field::categories, std::vector<std::int64_t>{2, 2, 4, 0, 0, 1});
  packet.set(field::groups, std::vector<std::int64_t>{7, 7, 7, 8, 8, 8});
  packet.set(field::roles,
             std::vector<Role>{anchor, positive, negative, anchor, positive, negative});
  return packet;
}

std::map<std::string, Value> tiny_parameters() {
  return {{"classes", std::int64_t{5}},
          {"width", std::int64_t{4}},
          {"primary_channels", std::int64_t{32}}};
}

const auto conformance = seam::testing::conformance<Rccapsnet>({
    .parameters = {{"classes", std::int64_t{5}},
                   {"width", std::int64_t{4}},
                   {"primary_channels", std::int64_t{32}}},
    .packets =
        [](Harness&) {
          return std::vector<Packet>{training_batch(), training_batch()};
        },
    .refused = {{{"primary_channels", std::int64_t{33}}},
                {{"image_height", std::int64_t{32}}},
                {{"image_width", std::int64_t{32}}}},
});

const auto conformance_of_own_weights = seam::testing::conformance<Rccapsnet>({
    .name = "own_weights",
    .parameters = {{"classes", std::int64_t{5}},
                   {"width", std::int64_t{4}},
                   {"primary_channels", std::int64_t{32}},
                   {"routing_weights", std::string("own")},
                   {"image_height", std::int64_t{32}},
                   {"image_width", std::int64_t{32}}},
    .packets =
        [](Harness&) {
          return std::vector<Packet>{training_batch(), training_batch()};
        },
});

/// A stage with these parameters after a training batch, with the gradients of a sum.
struct Pass {
  Tensor capsules, lengths, gradient;
};

template <class Stage>
Pass pass_of(const std::map<std::string, Value>& parameters, const std::string& weight) {
  Harness harness("model", std::make_unique<Stage>());
  for (const auto& [name, value] : tiny_parameters()) harness.set(name, value);
  for (const auto& [name, value] : parameters) harness.set(name, value);
  harness.set("train_mask", "none").training(true).push(training_batch());
  EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  const Packet& out = harness.outputs().at(0);
  const Tensor& capsules = out[field::capsules];
  const at::AutoGradMode gradients(true);
  const Tensor direction = torch::linspace(-1, 2, capsules.numel()).view(capsules.sizes());
  (capsules * direction).sum().backward();
  Pass pass{capsules.detach(), out[field::class_lengths].detach(), {}};
  for (const NamedWeight& named : dynamic_cast<Trainable&>(harness.runner().stage()).weights()) {
    if (named.name == weight) pass.gradient = named.tensor.grad();
  }
  return pass;
}

bool same(const Pass& a, const Pass& b) {
  return torch::equal(a.capsules, b.capsules) && torch::equal(a.lengths, b.lengths) &&
         torch::equal(a.gradient, b.gradient);
}

TEST(Rccapsnet, PresetsAreOtherNetworks) {
  const auto text = [](const char* value) { return Value{std::string(value)}; };
  const std::string weight = "f.stem.c.weight";
  const Pass usual = pass_of<Rccapsnet>({}, weight);
  EXPECT_TRUE(same(usual, pass_of<Rccapsnet>({{"preset", text("as_released")}}, weight)));
  EXPECT_FALSE(same(usual, pass_of<Rccapsnet>({{"preset", text("as_published")}}, weight)));
}

TEST(Rccapsnet, EachParameterHasAnEffect) {
  const auto text = [](const char* value) { return Value{std::string(value)}; };
  const std::string weight = "w";
  const Pass usual = pass_of<Rccapsnet>({}, weight);
  const std::vector<std::pair<std::string, Value>> settings{
      {"dropout", Value{0.0}},
      {"capsule_size", Value{std::int64_t{8}}},
      {"class_capsule_size", Value{std::int64_t{8}}},
      {"iterations", Value{std::int64_t{2}}},
      {"squash", text("epsilon_after_root")},
      {"norm_axis", text("class")},
      {"norm_axis", text("none")},
      {"towers", text("together")},
  };
  for (const auto& [name, value] : settings) {
    const Pass changed = pass_of<Rccapsnet>({{name, value}}, weight);
    EXPECT_FALSE(changed.gradient.sizes() == usual.gradient.sizes() &&
                 changed.capsules.sizes() == usual.capsules.sizes() && same(changed, usual))
        << name << " changes nothing";
  }
  EXPECT_EQ(pass_of<Rccapsnet>({{"routing_weights", text("own")},
                                {"image_height", Value{std::int64_t{32}}},
                                {"image_width", Value{std::int64_t{32}}}},
                               weight)
                .gradient.sizes(),
            (std::vector<std::int64_t>{8, 16, 80}));
}

TEST(Rccapsnet, ImagesOfAnotherSizeAreRefusedWhereCapsulesHaveWeightsOfTheirOwn) {
  Harness harness("model", std::make_unique<Rccapsnet>());
  for (const auto& [name, value] : tiny_parameters()) harness.set(name, value);
  harness.set("routing_weights", "own").set("image_height", 64).set("image_width", 64);
  harness.training(true).push(training_batch()).finish();
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].what(), HasSubstr("images of 32x32 give 8 primary capsules"));
}

TEST(Rccapsnet, InBfloat16CapsulesAreFloatAndCloseToThoseInFloat32) {
  const auto text = [](const char* value) { return Value{std::string(value)}; };
  const Pass wide = pass_of<Rccapsnet>({{"precision", text("float32")}}, "w");
  const Pass narrow = pass_of<Rccapsnet>({{"precision", text("bfloat16")}}, "w");
  EXPECT_EQ(narrow.capsules.scalar_type(), torch::kFloat32);
  EXPECT_FALSE(torch::equal(narrow.capsules, wide.capsules));
  EXPECT_LT((narrow.capsules - wide.capsules).norm().item<double>(),
            0.05 * wide.capsules.norm().item<double>());
}

}  // namespace seam::stages::rccapsnet_test
