/// The stages of capsules with global descriptors: model.capsule_module, model.concat and
/// model.self_attention.
#include "stages/model/capsule_module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <string>
#include <vector>

#include "stages/model/concat.hpp"
#include "stages/model/self_attention.hpp"

namespace seam::stages {
namespace {

using seam::testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Sizes = std::vector<std::int64_t>;

Packet batch(std::int64_t images) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::embedding, torch::nn::functional::normalize(torch::randn({images, 24})));
  packet.set(field::feature_map, torch::randn({images, 16, 5, 6}));
  packet.set(field::capsules, 0.3 * torch::randn({images, 3, 4}));
  return packet;
}

/// Only these fields of the batch.
std::vector<Packet> batches(const std::vector<Field<Tensor>>& fields) {
  std::vector<Packet> all;
  for (const std::int64_t images : {5, 3}) {
    const Packet whole = batch(images);
    Packet packet;
    for (const Field<Tensor>& field : fields) packet.set(field, whole.get(field));
    all.push_back(packet);
  }
  return all;
}

using Parameters = seam::testing::Example::Parameters;

const Parameters of_descriptors{{"width", std::int64_t{24}},
                                {"capsule_size", std::int64_t{4}},
                                {"classes", std::int64_t{3}},
                                {"class_capsule_size", std::int64_t{4}}};
const Parameters of_map{
    {"input", std::string("feature_map")},   {"width", std::int64_t{16}},
    {"capsule_size", std::int64_t{4}},       {"classes", std::int64_t{3}},
    {"class_capsule_size", std::int64_t{4}}, {"map_height", std::int64_t{5}},
    {"map_width", std::int64_t{6}},          {"primary_capsules", std::int64_t{2}},
    {"primary_kernel", std::int64_t{3}}};
const Parameters together{{"type", std::string("d")},      {"width", std::int64_t{24}},
                          {"capsules", std::int64_t{3}},   {"capsule_size", std::int64_t{4}},
                          {"bottleneck", std::int64_t{6}}, {"classes", std::int64_t{5}}};
const Parameters apart{{"type", std::string("a")},
                       {"capsules", std::int64_t{3}},
                       {"capsule_size", std::int64_t{4}},
                       {"bottleneck", std::int64_t{6}},
                       {"classes", std::int64_t{5}}};

const auto capsules_conformance = seam::testing::conformance<CapsuleModule>({
    .parameters = of_descriptors,
    .packets = [](Harness&) { return batches({field::embedding}); },
    .training = true,
    .refused = {{{"capsule_size", std::int64_t{5}}}, {{"map_height", std::int64_t{7}}}},
});
const auto map_conformance = seam::testing::conformance<CapsuleModule>({
    .name = "map",
    .parameters = of_map,
    .packets = [](Harness&) { return batches({field::feature_map}); },
    .training = true,
    .refused = {{{"primary_kernel", std::int64_t{6}}}},
});
const auto concat_conformance = seam::testing::conformance<Concat>({
    .parameters = together,
    .packets =
        [](Harness&) {
          return batches({field::embedding, field::capsules});
        },
    .training = true,
    .refused = {{{"width", std::int64_t{0}}}, {{"type", std::string("a")}}},
});
const auto apart_conformance = seam::testing::conformance<Concat>({
    .name = "apart",
    .parameters = apart,
    .packets = [](Harness&) { return batches({field::capsules}); },
    .training = true,
});
const auto attention_conformance = seam::testing::conformance<SelfAttention>({
    .parameters = {{"channels", std::int64_t{16}}},
    .packets = [](Harness&) { return batches({field::feature_map}); },
    .training = true,
    .refused = {{{"channels", std::int64_t{0}}}},
});

/// A harness with parameters.
template <class Stage>
struct With : Harness {
  explicit With(const Parameters& parameters)
      : Harness(std::string(Stage::name), std::make_unique<Stage>()) {
    for (const auto& [name, value] : parameters) set(name, value);
  }
};

TEST(CapsuleModuleStage, ProvidesCapsulesOfDescriptorsAndLeavesThemAsTheyAre) {
  With<CapsuleModule> harness(of_descriptors);
  harness.push(batch(4));
  ASSERT_THAT(harness.errors(), IsEmpty());
  const Packet& out = harness.outputs().at(0);
  EXPECT_EQ(out[field::capsules].sizes(), (Sizes{4, 3, 4}));
  EXPECT_EQ(out[field::class_lengths].sizes(), (Sizes{4, 3}));
  EXPECT_TRUE(torch::equal(out[field::embedding], batch(4)[field::embedding]));
  // Attention adds nothing at first.
  EXPECT_TRUE(
      torch::allclose(out[field::capsules].norm(2, 2), out[field::class_lengths], 1e-4, 1e-6));
  std::vector<std::string> names;
  for (const NamedWeight& weight :
       dynamic_cast<CapsuleModule&>(harness.runner().stage()).weights()) {
    names.push_back(weight.name);
  }
  EXPECT_THAT(names, UnorderedElementsAre("w", "attention.gamma", "attention.query_conv.weight",
                                          "attention.query_conv.bias", "attention.key_conv.weight",
                                          "attention.key_conv.bias", "attention.value_conv.weight",
                                          "attention.value_conv.bias"));
}

TEST(CapsuleModuleStage, TheErrorOfPortsIsAnother) {
  const auto capsules = [](const char* compat) {
    With<CapsuleModule> harness(of_descriptors);
    harness.set("compat", compat).push(batch(4));
    EXPECT_THAT(harness.errors(), IsEmpty());
    return harness.outputs().at(0)[field::capsules].detach();
  };
  EXPECT_FALSE(torch::allclose(capsules("none"), capsules("routes_softmax"), 1e-2, 1e-3));
}

TEST(ConcatStage, ProvidesWhatItsTypeSays) {
  With<Concat> d(together);
  d.push(batch(4));
  ASSERT_THAT(d.errors(), IsEmpty());
  const Packet& out = d.outputs().at(0);
  EXPECT_EQ(out[field::embedding].sizes(), (Sizes{4, 36}));
  EXPECT_EQ(out[field::logits].sizes(), (Sizes{4, 5}));
  EXPECT_TRUE(torch::allclose(out[field::embedding].norm(2, 1), torch::ones({4})));
  With<Concat> a(apart);
  a.push(batch(4));
  ASSERT_THAT(a.errors(), IsEmpty());
  EXPECT_TRUE(torch::equal(a.outputs().at(0)[field::embedding], batch(4)[field::embedding]));
  EXPECT_EQ(a.outputs().at(0)[field::logits].sizes(), (Sizes{4, 5}));
}

/// Empty, or why capsules of that input are refused for that type.
std::string refusal(const char* type, const Parameters& capsules) {
  With<CapsuleModule> source(capsules);
  With<Concat> concat(std::string(type) == "a" ? apart : together);
  concat.set("type", type).upstream({&source.runner()});
  try {
    concat.open();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(ConcatStage, RefusesCapsulesOfWhatTheTypeDoesNotMakeThemOf) {
  EXPECT_EQ(refusal("a", of_descriptors), "");
  EXPECT_EQ(refusal("a", of_map), "");
  for (const char* type : {"b", "d"}) {
    EXPECT_EQ(refusal(type, of_descriptors), "");
    EXPECT_THAT(refusal(type, of_map), HasSubstr("made of the feature map"));
  }
  EXPECT_EQ(refusal("c", of_map), "");
  EXPECT_THAT(refusal("c", of_descriptors), HasSubstr("made of the descriptors"));
}

TEST(SelfAttentionStage, ReplacesTheMap) {
  With<SelfAttention> harness(Parameters{{"channels", std::int64_t{16}}});
  harness.push(batch(2));
  ASSERT_THAT(harness.errors(), IsEmpty());
  EXPECT_TRUE(torch::equal(harness.outputs().at(0)[field::feature_map],
                           batch(2)[field::feature_map]));  // gamma is 0
}

}  // namespace
}  // namespace seam::stages
