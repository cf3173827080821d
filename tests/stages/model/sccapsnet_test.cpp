#include "stages/model/sccapsnet.hpp"

#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stages/model/rccapsnet.hpp"
#include "tests/stages/named_categories.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::sccapsnet_test {

using seam::testing::Harness;

/// A stage with a small network.
struct Tiny : Harness {
  Tiny() : Harness("model", std::make_unique<Sccapsnet>()) {
    set("classes", 5).set("width", 8).set("primary_channels", 64).compute_threads(1);
  }
  [[nodiscard]] const Packet& output() {
    EXPECT_TRUE(errors().empty()) << errors()[0].full_message();
    return outputs().at(0);
  }
};

Packet evaluation_batch(const Tensor& images) {
  Packet packet;
  packet.set(field::images, images);
  return packet;
}

/// Two triplets; the categories of negatives differ from those of their anchors.
Packet training_batch() {
  using enum Role;
  torch::manual_seed(1);
  Packet packet = evaluation_batch(torch::rand({6, 3, 32, 32}));
  packet.set(field::categories, std::vector<std::int64_t>{2, 2, 4, 0, 0, 1});
  packet.set(field::groups, std::vector<std::int64_t>{7, 7, 7, 8, 8, 8});
  packet.set(field::roles,
             std::vector<Role>{anchor, positive, negative, anchor, positive, negative});
  return packet;
}

std::vector<Packet> training_batches(Harness& /*harness*/) {
  return {training_batch(), training_batch()};
}

const auto conformance = seam::testing::conformance<Sccapsnet>({
    .parameters = {{"classes", std::int64_t{5}},
                   {"width", std::int64_t{8}},
                   {"primary_channels", std::int64_t{64}}},
    .packets = training_batches,
    .refused = {{{"primary_channels", std::int64_t{65}}}},
});

const auto residual_conformance = seam::testing::conformance<Rccapsnet>({
    .parameters = {{"classes", std::int64_t{5}},
                   {"width", std::int64_t{4}},
                   {"primary_channels", std::int64_t{32}}},
    .packets = training_batches,
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
    .packets = training_batches,
});

/// Which of the 5 class capsules of a row are not zero.
std::vector<std::int64_t> kept(const Tensor& embedding, std::int64_t row) {
  std::vector<std::int64_t> result;
  for (std::int64_t k = 0; k < 5; ++k) {
    if (embedding[row].narrow(0, k * 16, 16).abs().sum().item<float>() > 0) result.push_back(k);
  }
  return result;
}

TEST(Sccapsnet, EvaluationGivesUnmaskedCapsulesAndPredictions) {
  Tiny harness;
  harness.push(evaluation_batch(torch::rand({4, 3, 40, 24}))).finish();
  const Packet& out = harness.output();
  EXPECT_EQ(out[field::capsules].sizes(), (std::vector<std::int64_t>{4, 5, 16}));
  EXPECT_EQ(out[field::embedding].sizes(), (std::vector<std::int64_t>{4, 80}));
  EXPECT_THAT(kept(out[field::embedding], 0), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(torch::equal(out[field::predicted_category], out[field::class_lengths].argmax(1)));
  EXPECT_FALSE(out[field::embedding].requires_grad());
}

TEST(Sccapsnet, TrainingMasksAsAsked) {
  const auto embedding = [](const char* mask) {
    Tiny harness;
    harness.set("train_mask", mask).training(true).push(training_batch()).finish();
    EXPECT_TRUE(harness.output()[field::embedding].requires_grad());
    return harness.output()[field::embedding];
  };
  for (const char* mask : {"auto", "anchor_category"}) {
    const Tensor masked = embedding(mask);
    for (const std::int64_t row : {0, 1, 2}) EXPECT_THAT(kept(masked, row), ElementsAre(2)) << row;
    for (const std::int64_t row : {3, 4, 5}) EXPECT_THAT(kept(masked, row), ElementsAre(0)) << row;
  }
  EXPECT_THAT(kept(embedding("own_category"), 2), ElementsAre(4));
  EXPECT_THAT(kept(embedding("none"), 2), ElementsAre(0, 1, 2, 3, 4));
}

/// The error of training on batches without anchors, such as those of sampling.pk.
std::string refused(const std::string& train_mask, const std::string& towers) {
  Tiny harness;
  Packet packet = training_batch();
  packet.set(field::roles, std::vector<Role>(6, Role::single));
  harness.set("train_mask", train_mask).set("towers", towers);
  harness.training(true).push(packet).finish();
  return harness.errors().empty() ? "nothing" : harness.errors()[0].what();
}

TEST(Sccapsnet, BatchesWithoutAnchorsAreRefusedWhereTheMaskIsTheAnchors) {
  EXPECT_THAT(refused("anchor_category", "together"),
              AllOf(HasSubstr("group 7 has no anchor"),
                    HasSubstr("set train_mask = \"own_category\" or \"none\"")));
  EXPECT_EQ(refused("own_category", "together"), "nothing");
  EXPECT_EQ(refused("none", "together"), "nothing");
}

TEST(Sccapsnet, BatchesWithoutRolesAreRefusedWhereTowersAreByRole) {
  EXPECT_THAT(refused("none", "by_role"),
              AllOf(HasSubstr("no image has a role"), HasSubstr("set towers = \"together\"")));
}

TEST(Sccapsnet, EveryGroupNeedsOneAnchorForItsMask) {
  using enum Role;
  EXPECT_EQ(anchor_categories({3, 1, 2}, {5, 4, 4}, {anchor, negative, anchor}),
            (std::vector<std::int64_t>{3, 2, 2}));
  EXPECT_REFUSED(static_cast<void>(anchor_categories({3, 1}, {5, 4}, {anchor, positive})),
                 Fault::configuration, "group 4 has no anchor")
      << "one group of two lacks it";
  EXPECT_REFUSED(static_cast<void>(anchor_categories({3, 1}, {5, 5}, {anchor, anchor})),
                 Fault::data, "group 5 contains two anchors");
}

TEST(Sccapsnet, MoreCategoriesThanClassesIsAnErrorThatSaysSo) {
  Tiny harness;
  harness.set("classes", 2).training(true).push(training_batch()).finish();
  EXPECT_THAT(only_error(harness).what(), HasSubstr("outside the model's 2 classes"));
}

TEST(Sccapsnet, DropoutDependsOnSeedEpochAndPacket) {
  const auto run = [](std::uint64_t seed, std::int64_t epoch) {
    Tiny harness;
    harness.seed(seed).epoch(epoch).training(true).push(training_batch()).finish();
    return harness.output()[field::capsules].detach();
  };
  EXPECT_TRUE(torch::equal(run(1, 0), run(1, 0)));
  EXPECT_FALSE(torch::equal(run(1, 0), run(1, 1)));
  EXPECT_FALSE(torch::equal(run(1, 0), run(2, 0)));
}

/// A parameter, and the same choice as options of the network.
struct Setting {
  std::string parameter;
  Value value;
  std::function<void(nn::NetworkOptions&)> by_hand;
};

std::vector<Setting> settings() {
  const auto integer = [](std::int64_t value) { return Value{value}; };
  const auto text = [](const char* value) { return Value{std::string(value)}; };
  return {
      {"classes", integer(6), [](nn::NetworkOptions& o) { o.classes = 6; }},
      {"width", integer(12), [](nn::NetworkOptions& o) { o.width = 12; }},
      {"primary_channels", integer(32), [](nn::NetworkOptions& o) { o.primary_channels = 32; }},
      {"capsule_size", integer(8), [](nn::NetworkOptions& o) { o.capsule_size = 8; }},
      {"class_capsule_size", integer(4), [](nn::NetworkOptions& o) { o.class_capsule_size = 4; }},
      {"preset", text("as_published"),
       [](nn::NetworkOptions& o) {
         o.activation = nn::Activation::leaky_relu;
         o.slope = 0.1;
         o.routing.logits = nn::Logits::accumulate;
       }},
      {"dropout", Value{0.75}, [](nn::NetworkOptions& o) { o.dropout = 0.75; }},
      {"iterations", integer(1), [](nn::NetworkOptions& o) { o.routing.iterations = 1; }},
      {"norm_axis", text("class"),
       [](nn::NetworkOptions& o) { o.norm_axis = nn::NormAxis::class_capsules; }},
  };
}

/// The results of a training batch: the capsules, and the gradient of the first convolution.
struct Pass {
  Tensor capsules, gradient;
};

Pass pass_of(const Tensor& capsules, const Tensor& first_weight) {
  const Tensor direction = torch::linspace(-1, 2, capsules.numel()).view(capsules.sizes());
  (capsules * direction).sum().backward();
  return {capsules.detach(), first_weight.grad()};
}

Tensor first_convolution(Harness& harness) {
  for (const NamedWeight& weight : dynamic_cast<Trainable&>(harness.runner().stage()).weights()) {
    if (weight.name == "f.0.c.weight") return weight.tensor;
  }
  return {};
}

/// The stage's pass, and that of a network created directly with the same weights.
struct Passes {
  Pass stage, network;
};

Passes passes(const Setting& setting,
              const std::vector<std::int64_t>& towers = {1, 2, 3, 1, 2, 3}) {
  Tiny harness;
  harness.training(true).set("train_mask", "none");
  nn::NetworkOptions options;
  options.classes = 5;
  options.width = 8;
  options.primary_channels = 64;
  if (!setting.parameter.empty()) {
    harness.set(setting.parameter, setting.value);
    setting.by_hand(options);
  }
  const Archive saved = harness.open().runner().save();
  nn::CapsuleNetwork network(options, 99);
  for (const auto& item : network->named_parameters()) {
    get_tensor(saved, item.key(), item.value());
  }

  const Packet batch = training_batch();
  harness.push(batch);
  const at::AutoGradMode gradients(true);
  const nn::DropoutKey key{0, stream_of("model"), 0, 0};
  const Tensor& images = batch[field::images];
  const Tensor by_hand = (towers.empty() ? network->forward(images, key)
                                         : network->forward_towers(images, towers, key))
                             .capsules;
  return {pass_of(harness.outputs().at(0)[field::capsules], first_convolution(harness)),
          pass_of(by_hand, network->named_parameters()["f.0.c.weight"])};
}

bool same(const Pass& a, const Pass& b) {
  return a.capsules.sizes() == b.capsules.sizes() && a.gradient.sizes() == b.gradient.sizes() &&
         torch::equal(a.capsules, b.capsules) && torch::equal(a.gradient, b.gradient);
}

TEST(Sccapsnet, EachParameterChangesTheNetworkAsItSays) {
  const Pass usual = passes({}).stage;
  for (const Setting& setting : settings()) {
    const Passes found = passes(setting);
    EXPECT_TRUE(same(found.stage, found.network)) << setting.parameter;
    EXPECT_FALSE(same(found.stage, usual)) << setting.parameter << " changes nothing";
  }
}

TEST(Sccapsnet, WeightsAreThoseOfTheNetworkSeededAsTheRunSays) {
  Tiny harness;
  const Archive saved = harness.open().runner().save();
  nn::NetworkOptions options;
  options.classes = 5;
  options.width = 8;
  options.primary_channels = 64;
  const nn::CapsuleNetwork network(options, Random(0, ~stream_of("model")).bits64());
  for (const auto& item : network->named_parameters()) {
    const Tensor loaded = torch::empty_like(item.value());
    get_tensor(saved, item.key(), loaded);
    EXPECT_TRUE(torch::equal(loaded, item.value())) << item.key();
  }
}

TEST(Sccapsnet, TowersShareBatchStatisticsWhereAsked) {
  const Setting together{"towers", Value{std::string("together")}, [](nn::NetworkOptions&) {}};
  const Passes found = passes(together, {});
  EXPECT_TRUE(same(found.stage, found.network));
  EXPECT_FALSE(same(found.stage, passes({}).stage));
}

/// The error of a network that is trained on the first list and evaluated on the second.
std::string began_with(const std::vector<std::vector<std::string>>& lists) {
  std::vector<std::unique_ptr<Harness>> data_sets;
  std::vector<StageRunner*> upstream;
  for (const std::vector<std::string>& names : lists) {
    data_sets.push_back(
        std::make_unique<Harness>("items", std::make_unique<NamedCategories>(names)));
    upstream.push_back(&data_sets.back()->runner());
  }
  Tiny harness;
  harness.upstream(upstream).open();
  for (const auto& data_set : data_sets) data_set->open();  // after the model, as in a run
  try {
    harness.push(evaluation_batch(torch::rand({1, 3, 32, 32}))).finish();
  } catch (const Error& error) {
    return error.full_message();
  }
  return "began";
}

TEST(SccapsnetStage, DataSetsThatNumberCategoriesInDifferentWaysAreRefused) {
  EXPECT_EQ(began_with({{"Dresses", "Tees"}, {"Dresses", "Tees"}}), "began");
  EXPECT_EQ(began_with({{"Dresses", "Tees"}, {"Dresses", "Tees", "Skirts"}, {}}), "began");
  EXPECT_THAT(began_with({{"coat"}, {"coat", "hat"}, {"coat", "shoe"}}),
              HasSubstr("category 1 is 'hat' in one (of 2 categories) and 'shoe' in another"))
      << "the first is the shortest";
  EXPECT_THAT(
      began_with({{"Dresses", "Tees"}, {"Dresses", "Skirts", "Tees"}}),
      HasSubstr("category 1 is 'Tees' in one (of 2 categories) and 'Skirts' in another (of 3)"));
}

/// The error of a training batch whose data set has names for this many categories.
std::string trained_with(const std::vector<std::string>& names, const std::string& train_mask) {
  Harness data("items", std::make_unique<NamedCategories>(names));
  Tiny harness;
  harness.set("train_mask", train_mask).training(true).upstream({&data.runner()}).open();
  data.open();
  try {
    harness.push(training_batch());
  } catch (const Error& error) {
    return error.full_message();
  }
  return "trained";
}

TEST(SccapsnetStage, EachCategoryNeedsACapsule) {
  const std::vector<std::string> six{"a", "b", "c", "d", "e", "f"};
  for (const char* mask : {"anchor_category", "own_category", "none"}) {
    EXPECT_THAT(trained_with(six, mask),
                AllOf(HasSubstr("the training data has 6 categories"),
                      HasSubstr("the network has 5 class capsules"), HasSubstr("set classes = 6")));
  }
}

TEST(SccapsnetStage, ACapsuleThatNoCategoryTrainsIsRefusedUnlessAllAreTrained) {
  const std::vector<std::string> three{"a", "b", "c"};
  for (const char* mask : {"anchor_category", "own_category"}) {
    EXPECT_THAT(trained_with(three, mask),
                AllOf(HasSubstr("the training data has 3 categories"),
                      HasSubstr("the other 2 would keep their initial weights"),
                      HasSubstr("set classes = 3, or train_mask = \"none\"")));
  }
  EXPECT_EQ(trained_with(three, "none"), "trained");
  EXPECT_EQ(trained_with({"a", "b", "c", "d", "e"}, "anchor_category"), "trained");
  EXPECT_EQ(trained_with({}, "anchor_category"), "trained") << "it has no names";
}

TEST(SccapsnetStage, ACategoryWithoutTrainingImagesIsToldUnlessAllAreTrained) {
  const std::vector<std::string> five{"a", "b", "c", "d", "e"};
  const auto log_of = [&](const char* mask, std::int64_t served) {
    Harness data("items", std::make_unique<NamedCategories>(five, served));
    Tiny harness;
    harness.set("train_mask", mask).training(true).upstream({&data.runner()}).open();
    data.open();
    harness.push(training_batch());
    return harness.log();
  };
  const auto told = Contains(
      ::testing::Field(&seam::testing::LogLine::text,
                       HasSubstr("2 categories of the training list without images (d, e)")));
  EXPECT_THAT(log_of("anchor_category", 3), told);
  EXPECT_THAT(log_of("none", 3), Not(told));
  EXPECT_THAT(log_of("anchor_category", 5), Not(told));
}

TEST(SccapsnetStage, InEvaluationTheDataMayHaveOtherCategories) {
  EXPECT_EQ(began_with({{"a"}}), "began");
  EXPECT_EQ(began_with({{"a", "b", "c", "d", "e", "f"}}), "began");
}

}  // namespace seam::stages::sccapsnet_test
