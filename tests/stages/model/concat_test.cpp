#include "stages/model/concat.hpp"

#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "stages/model/capsule_module.hpp"
#include "tests/stages/model/descriptor_capsules_testing.hpp"
#include "tests/stages/nn/network_properties.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::concat_test {

using seam::testing::Harness;
using ::testing::Field;

using Sizes = std::vector<std::int64_t>;

nn::ConcatModuleOptions options(nn::Classified classified = nn::Classified::together) {
  nn::ConcatModuleOptions options;
  options.classified = classified;
  options.width = classified == nn::Classified::together ? 9 : 0;
  options.capsules = 3;
  options.capsule_size = 4;
  options.bottleneck = 6;
  options.classes = 5;
  return options;
}

/// Batch normalisation in training, column by column.
Tensor normalised(const Tensor& rows) {
  Tensor result = rows.clone();
  for (std::int64_t c = 0; c < rows.size(1); ++c) {
    const Tensor column = rows.select(1, c);
    const Tensor mean = column.mean();
    const Tensor variance = (column - mean).square().mean();
    result.select(1, c).copy_((column - mean) / (variance + 1e-5).sqrt());
  }
  return result;
}

TEST(ConcatModule, IsTheHeadOfItsDescription) {
  const torch::NoGradGuard no_gradient;
  for (const nn::Classified classified : {nn::Classified::together, nn::Classified::capsules}) {
    torch::manual_seed(1);
    nn::ConcatModule net(options(classified));
    net->to(torch::kFloat64);
    const Tensor capsules = torch::randn({7, 3, 4}, torch::kFloat64);
    const Tensor descriptors = torch::randn({7, 9}, torch::kFloat64);
    const bool together = classified == nn::Classified::together;
    const nn::ConcatModuleOutput output = net(together ? descriptors : Tensor(), capsules);
    Tensor all = capsules.reshape({7, 12});
    if (together) {
      all = torch::cat({descriptors, all}, 1);
      EXPECT_TRUE(torch::allclose(output.embedding, all / all.norm(2, 1, true), 0, 1e-12));
    } else {
      EXPECT_FALSE(output.embedding.defined());
    }
    const auto parameters = net->named_parameters();
    const Tensor hidden = normalised(all).matmul(parameters["fc1.weight"].t());
    const Tensor logits = normalised(hidden).matmul(parameters["fc2.weight"].t());
    EXPECT_TRUE(torch::allclose(output.logits, logits, 0, 1e-10));
  }
}

// A direct classifier of the paper's 10,517 items would have 66.6 million weights.
TEST(ConcatModule, HasTheSizesOfThePaper) {
  nn::ConcatModuleOptions published;
  published.width = 3 * 2048;
  published.capsules = 12;
  published.capsule_size = 16;
  published.classes = 10517;
  EXPECT_EQ(published.length(), 6336);
  torch::manual_seed(1);
  const nn::ConcatModule net(published);
  const auto parameters = net->named_parameters();
  EXPECT_EQ(parameters["fc1.weight"].numel() + parameters["fc2.weight"].numel(),
            512 * (6336 + 10517));
  EXPECT_NEAR(parameters["fc1.weight"].std().item<double>(), std::sqrt(2.0 / 6336), 1e-4);
  EXPECT_EQ(parameters["fc2.bias"].abs().max().item<double>(), 0);
}

TEST(ConcatModule, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads alone(1);  // many small passes
  nn::ConcatModule net(options());
  net->to(torch::kFloat64);
  torch::manual_seed(3);
  const std::vector<Tensor> inputs{torch::randn({6, 9}, torch::kFloat64).requires_grad_(),
                                   torch::randn({6, 3, 4}, torch::kFloat64).requires_grad_()};
  test::expect_gradients(
      [&] {
        const nn::ConcatModuleOutput output = net(inputs[0], inputs[1]);
        return output.embedding.pow(3).sum() + output.logits.square().sum();
      },
      test::with_weights(inputs, *net));
}

TEST(ConcatModule, WhatDoesNotFitIsRefused) {
  for (std::int64_t nn::ConcatModuleOptions::*size :
       {&nn::ConcatModuleOptions::classes, &nn::ConcatModuleOptions::width}) {
    nn::ConcatModuleOptions none = options();
    none.*size = 0;
    EXPECT_REFUSED(nn::ConcatModule{none}, Fault::configuration, "must be at least 1");
  }
  nn::ConcatModule net(options());
  EXPECT_REFUSED((void)net(torch::rand({2, 8}), torch::rand({2, 3, 4})), Fault::configuration,
                 "not [2, 3, 4] and [2, 8]");
  EXPECT_REFUSED((void)net(torch::rand({2, 9}), torch::rand({2, 4, 3})), Fault::configuration,
                 "not [2, 4, 3] and [2, 9]");
  EXPECT_REFUSED((void)net(torch::rand({2, 9}), torch::rand({3, 3, 4})), Fault::configuration,
                 "not [3, 3, 4] and [2, 9]");
}

TEST(ConcatModule, HasTheSameBytesForAnyNumberOfThreads) {
  nn::ConcatModuleOptions large = options();
  large.width = 768;
  large.capsules = 12;
  large.capsule_size = 16;
  large.bottleneck = 128;
  large.classes = 301;
  torch::manual_seed(3);
  test::expect_same_bytes_for_any_threads(
      [&] { return nn::ConcatModule(large); },
      {torch::randn({37, 768}).requires_grad_(), torch::randn({37, 12, 16}).requires_grad_()},
      [](nn::ConcatModule& net, const std::vector<Tensor>& inputs) {
        const nn::ConcatModuleOutput output = net(inputs[0], inputs[1]);
        return std::vector<Tensor>{output.embedding, output.logits};
      });
}

const Parameters together{{"type", std::string("d")},      {"width", std::int64_t{24}},
                          {"capsules", std::int64_t{3}},   {"capsule_size", std::int64_t{4}},
                          {"bottleneck", std::int64_t{6}}, {"classes", std::int64_t{5}}};
const Parameters apart{{"type", std::string("a")},
                       {"capsules", std::int64_t{3}},
                       {"capsule_size", std::int64_t{4}},
                       {"bottleneck", std::int64_t{6}},
                       {"classes", std::int64_t{5}}};

const auto concat_conformance = seam::testing::conformance<Concat>({
    .parameters = together,
    .packets =
        [](Harness&) {
          return batches({field::embedding, field::capsules});
        },
    .refused = {{{"width", std::int64_t{0}}}, {{"type", std::string("a")}}},
});
const auto apart_conformance = seam::testing::conformance<Concat>({
    .name = "apart",
    .parameters = apart,
    .packets = [](Harness&) { return batches({field::capsules}); },
});

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

TEST(ConcatStage, SaysWhereItIsNotKnownWhatCapsulesAreMadeOf) {
  With<Concat> d(together);
  d.push(batch(4));
  EXPECT_THAT(d.log(), Contains(Field(&seam::testing::LogLine::text,
                                      HasSubstr("unknown whether they match `type`"))));
}

/// Opens the stage after one that makes capsules.
template <class Source>
void open_after(const char* type, const Parameters& capsules) {
  With<Source> source(capsules);
  With<Concat> concat(std::string(type) == "a" ? apart : together);
  concat.set("type", type).upstream({&source.runner()}).open();
}

TEST(ConcatStage, RefusesCapsulesOfWhatTheTypeDoesNotMakeThemOf) {
  open_after<CapsuleModule>("a", of_descriptors);
  open_after<Capsules>("a", of_map);
  for (const char* type : {"b", "d"}) {
    open_after<CapsuleModule>(type, of_descriptors);
    EXPECT_REFUSED(open_after<Capsules>(type, of_map), Fault::configuration,
                   "made from the feature map");
  }
  open_after<Capsules>("c", of_map);
  EXPECT_REFUSED(open_after<CapsuleModule>("c", of_descriptors), Fault::configuration,
                 "made from the descriptors");
}

}  // namespace seam::stages::concat_test
