#include <seam/conformance.hpp>
#include <seam/safetensors.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/sdk/network_trial.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::module_test {

using seam::testing::Harness;
using test::equal;
using test::NetworkTrial;
using test::Perceptron;

class PerceptronStage final : public ModuleStage<Perceptron> {
 public:
  static constexpr std::string_view name = "model.perceptron";
  void declare(Declaration& d) override {
    d.doc("A small network.");
    d.parameter("hidden", hidden_, "units between the layers").at_least(1);
    d.needs(field::images);
    d.provides(field::embedding).contract("f32[N,5]");
    declare_module(d);
  }
  using ModuleStage::net;

 private:
  [[nodiscard]] Perceptron make() const override { return Perceptron(hidden_); }
  void forward(Perceptron& net, Packet& packet, Context& /*context*/) override {
    packet.set(field::embedding, net->forward(packet.get(field::images)));
  }
  [[nodiscard]] std::vector<std::string> without_place() const override { return {"decoder.*"}; }
  std::int64_t hidden_ = 8;
};

Packet batch(float offset = 0) {
  return test::image_batch(6, offset);
}

const auto conformance = seam::testing::conformance<PerceptronStage>({
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch(0), batch(1), batch(2)};
        },
    // LibTorch's batch normalisation is summed in one part per thread.
    .training = false,
    .without_effect = {{"rate_scale", "shows in training alone"}},
});

struct Trial : NetworkTrial<PerceptronStage> {
  using NetworkTrial::NetworkTrial;
  Tensor embed(const Packet& packet) { return run(packet).get(field::embedding); }
};

std::filesystem::path write(const test::TemporaryFolder& folder, const test::Tensors& tensors) {
  Archive archive;
  for (const auto& [name, tensor] : tensors) put_tensor(archive, name, tensor);
  const std::vector<std::byte> bytes = safetensors_bytes({archive.entries(), {}});
  return folder.write("weights.safetensors",
                      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

TEST(ModuleStage, InitialWeightsAreOfTheSeedAndTheStagesNameAlone) {
  Trial first;
  first.harness.seed(3).compute_threads(1).open();
  torch::rand({7});  // drawn elsewhere
  Trial again;
  again.harness.seed(3).compute_threads(4).epoch(2).open();
  EXPECT_TRUE(equal(first.state(), again.state()));
  Trial other_seed;
  other_seed.harness.seed(4).open();
  EXPECT_FALSE(equal(first.state(), other_seed.state()));
  Trial other_name("teacher");
  other_name.harness.seed(3).open();
  EXPECT_FALSE(equal(first.state(), other_name.state()));
}

// With frozen normalisation, because LibTorch sums a batch in one part per thread.
TEST(ModuleStage, DropoutIsOfThePacketWhateverThreadsThereAreAndWhateverCameBefore) {
  const Value norm{std::vector<std::string>{"norm.*"}};
  Trial one;
  one.harness.seed(3).set("freeze", norm).training(true).compute_threads(1);
  one.embed(batch(1));  // sequence 0
  torch::rand({7});
  const Tensor second = one.embed(batch(2));  // sequence 1
  Trial other;
  other.harness.seed(3).set("freeze", norm).training(true).compute_threads(4);
  other.embed(batch(5));
  EXPECT_TRUE(torch::equal(other.embed(batch(2)), second));
  EXPECT_FALSE(torch::equal(other.embed(batch(2)), second)) << "different packet, same dropout";
  Trial later;
  later.harness.seed(3).set("freeze", norm).training(true).epoch(1);
  later.embed(batch(1));
  EXPECT_FALSE(torch::equal(later.embed(batch(2)), second)) << "different epoch, same dropout";
}

TEST(ModuleStage, EvaluationUsesRunningStatisticsAndDropsNothing) {
  Trial trial;
  const Tensor all = trial.embed(batch());
  Packet half = batch();
  half[field::images] = half[field::images].narrow(0, 0, 2);
  EXPECT_TRUE(torch::allclose(trial.embed(half), all.narrow(0, 0, 2), 1e-5, 1e-6));
  EXPECT_FALSE(all.requires_grad());
}

TEST(ModuleStage, FrozenPartsAreInEvaluationModeWithoutGradientAndWithoutAnOptimizer) {
  Trial trial;
  trial.harness.set("freeze", Value{std::vector<std::string>{"conv.*", "norm.*"}})
      .set("rate_scale", 0.25)
      .training(true);
  const Tensor embedding = trial.embed(batch());
  embedding.sum().backward();
  const auto& net = trial.stage->net();
  EXPECT_FALSE(net->norm->is_training());
  EXPECT_TRUE(net->dropout->is_training());
  EXPECT_FALSE(net->norm->weight.grad().defined());
  EXPECT_TRUE(net->fc1->weight.grad().defined());
  EXPECT_TRUE(torch::equal(net->norm->running_mean, torch::zeros(8)));
  std::vector<std::string> names;
  for (const NamedWeight& weight : trial.stage->weights()) {
    names.push_back(weight.name);
    EXPECT_EQ(weight.rate_scale, 0.25);
  }
  EXPECT_THAT(names, ElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"));
}

TEST(ModuleStage, AFrozenNetworkEvaluatesWithItsDropoutInTrainingFlowsToo) {
  Trial trial;
  trial.harness.set("freeze", Value{std::vector<std::string>{"*"}}).seed(3).training(true);
  const Tensor trained = trial.embed(batch());
  EXPECT_FALSE(trained.requires_grad());
  EXPECT_THAT(trial.stage->weights(), IsEmpty());
  trial.harness.finish();
  for (const auto& line : trial.harness.log())
    EXPECT_NE(line.level, LogLevel::warning) << line.text;
  Trial evaluated;
  evaluated.harness.seed(3);
  EXPECT_TRUE(torch::equal(evaluated.embed(batch()), trained));
}

TEST(ModuleStage, APatternThatFreezesNothingIsRefused) {
  Trial trial;
  trial.harness.set("freeze", Value{std::vector<std::string>{"fc3.*"}});
  EXPECT_REFUSED(trial.harness.open(), Fault::configuration,
                 "no weight matches 'fc3.*'; the weights are conv.weight, fc1.weight");
}

TEST(ModuleStage, ImportsByName) {
  const test::TemporaryFolder folder;
  Trial source;
  source.harness.seed(8).open();
  auto state = source.state();
  state.erase("norm.num_batches_tracked");                    // older files have none
  state["fc1.bias"] = state["fc1.bias"].to(torch::kFloat64);  // converted
  state["decoder.weight"] = torch::ones({2});                 // no surprise
  const auto file = write(folder, state);
  Trial trial;
  trial.harness.seed(3).set("weights", file.string()).open();
  EXPECT_TRUE(equal(trial.state(), source.state()));
}

TEST(ModuleStage, WhatDoesNotFitIsSaidInOneMessage) {
  const test::TemporaryFolder folder;
  Trial source;
  source.harness.open();
  auto state = source.state();
  state.erase("fc2.weight");
  state["norm.bias"] = torch::zeros({9});
  state["fc3.weight"] = torch::zeros({1});
  const auto file = write(folder, state);
  Trial trial;
  trial.harness.set("weights", file.string());
  EXPECT_REFUSED(trial.harness.open(), Fault::configuration,
                 "the weights in '" + file.string() +
                     "' do not match the network of stage 'model'\n  missing: fc2.weight\n"
                     "  unexpected: fc3.weight\n  different shape: norm.bias [9] instead of [8]\n");
}

TEST(ModuleStage, IntegersAreNotWeights) {
  const test::TemporaryFolder folder;
  Trial source;
  source.harness.open();
  auto state = source.state();
  state["norm.num_batches_tracked"] = torch::zeros({}, torch::kFloat16);  // converted with the rest
  Trial converted;
  converted.harness.set("weights", write(folder, state).string()).open();
  state["fc1.bias"] = torch::ones({8}, torch::kUInt8);
  state["norm.bias"] = torch::ones({8}, torch::kBool);
  Trial quantised;
  quantised.harness.set("weights", write(folder, state).string());
  EXPECT_REFUSED(quantised.harness.open(), Fault::configuration,
                 "\n  different type: fc1.bias u8 instead of f32, norm.bias bool instead of f32\n");
}

TEST(ModuleStage, RenamesAndSkips) {
  const test::TemporaryFolder folder;
  Trial source;
  source.harness.seed(8).open();
  test::Tensors state;
  for (const auto& [name, tensor] : source.state()) state["backbone." + name] = tensor;
  state["backbone.fc2.weight"] = torch::zeros({1000, 8});
  const auto file = write(folder, state);
  Trial fresh;
  fresh.harness.seed(3).open();
  Trial trial;
  trial.harness.seed(3)
      .set("weights", file.string())
      .set("rename", Value{std::vector<std::string>{"backbone.="}})
      .set("skip", Value{std::vector<std::string>{"fc2.*"}})
      .open();
  EXPECT_TRUE(torch::equal(trial.state()["conv.weight"], source.state()["conv.weight"]));
  EXPECT_TRUE(torch::equal(trial.state()["fc2.weight"], fresh.state()["fc2.weight"]));
  Trial unused;
  unused.harness.set("weights", file.string())
      .set("rename", Value{std::vector<std::string>{"backbone.=", "head.=fc2."}});
  EXPECT_REFUSED(unused.harness.open(), Fault::configuration, "'head.=fc2.'");
  Trial mistyped;
  mistyped.harness.set("weights", file.string())
      .set("rename", Value{std::vector<std::string>{"backbone.="}})
      .set("skip", Value{std::vector<std::string>{"fc2.*", "fc_2.*"}});
  EXPECT_REFUSED(
      mistyped.harness.open(), Fault::configuration,
      "'skip' of stage 'model': no weight matches 'fc_2.*'; the weights are conv.weight");
  Trial nothing;
  nothing.harness.set("weights", file.string()).set("skip", Value{std::vector<std::string>{"*"}});
  EXPECT_REFUSED(nothing.harness.open(), Fault::configuration,
                 "'skip' excludes all of its weights");
  Trial untrained;
  untrained.harness.set("weights", file.string())
      .set("rename", Value{std::vector<std::string>{"backbone.="}})
      .set("skip", Value{std::vector<std::string>{"fc2.*"}})
      .set("freeze", Value{std::vector<std::string>{"fc2.weight", "conv.*"}});
  EXPECT_REFUSED(
      untrained.harness.open(), Fault::configuration,
      "in stage 'model', 'skip' leaves fc2.weight at initial values, and 'freeze' keeps");
  Trial without_file;
  without_file.harness.set("skip", Value{std::vector<std::string>{"fc2.*"}});
  EXPECT_REFUSED(without_file.harness.open(), Fault::configuration, "no 'weights'");
}

TEST(ModuleStage, SavesAndLoadsUnderTheModulesNames) {
  Trial source;
  source.harness.seed(8).training(true);
  source.embed(batch());
  source.stage->batch_accepted();
  const Archive archive = source.harness.runner().save();
  std::vector<std::string> names;
  for (const auto& [name, entry] : archive.entries()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("conv.weight", "fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight",
                                 "norm.bias", "norm.num_batches_tracked", "norm.running_mean",
                                 "norm.running_var", "norm.weight"));
  Trial target;
  target.harness.seed(3).open();
  target.stage->load(archive);
  EXPECT_TRUE(equal(target.state(), source.state()));
  Archive more = archive;
  more.put("fc3.weight", 1.0);
  EXPECT_REFUSED(target.stage->load(more), Fault::data,
                 "weights that this model does not have: fc3.weight");
}

TEST(ModuleStage, ABatchThatIsSkippedLeavesNothingBehind) {
  Trial trial;
  trial.harness.training(true);
  trial.embed(batch());
  trial.stage->batch_accepted();
  const auto after_first = trial.state();
  EXPECT_EQ(after_first.at("norm.num_batches_tracked").item<std::int64_t>(), 1);
  const Archive saved = trial.harness.runner().save();
  trial.embed(batch(9));  // and no step
  EXPECT_EQ(trial.harness.runner().save(), saved) << "before the flow has ended";
  trial.harness.finish();
  EXPECT_TRUE(equal(trial.state(), after_first));
}

TEST(ModuleStage, AFlowThatNoOptimizerFollowedSaysSo) {
  Trial trial;
  trial.harness.training(true).push(batch()).finish();
  ASSERT_THAT(trial.harness.log(), Not(IsEmpty()));
  EXPECT_THAT(trial.harness.log().back().text, HasSubstr("no optimizer accepted any of the 1"));
}

TEST(ModuleStage, InBfloat16FieldsStayFloat32AndGradientsFlow) {
  Trial exact;
  exact.harness.seed(3);
  const Tensor expected = exact.embed(batch());
  Trial trial;
  trial.harness.seed(3).set("precision", "bfloat16");
  const Tensor embedding = trial.embed(batch());
  EXPECT_EQ(embedding.scalar_type(), torch::kFloat32);
  EXPECT_FALSE(torch::equal(embedding, expected));
  EXPECT_TRUE(torch::allclose(embedding, expected, 0.05, 0.05));
  trial.harness.finish();
  trial.harness.training(true);
  trial.embed(batch()).sum().backward();
  EXPECT_EQ(trial.stage->net()->fc1->weight.grad().scalar_type(), torch::kFloat32);
}

TEST(ModuleStage, ConvolutionsWeightsAreChannelsLast) {
  Trial trial;
  trial.harness.open();
  EXPECT_TRUE(trial.stage->net()->conv->weight.is_contiguous(torch::MemoryFormat::ChannelsLast));
}

TEST(ModuleStage, SaysWhatItConsistsOf) {
  Trial trial;
  trial.harness.set("hidden", std::int64_t{2});
  trial.harness.set("freeze", std::vector<std::string>{"conv.*", "fc2.bias"});
  trial.harness.open();
  const DescribesNetwork& describes = *trial.stage;
  const NetworkPart network = describes.describe_network();
  EXPECT_EQ(to_text(network),
            "network    Perceptron   262\n"
            "  conv     Conv2d       108  weight [4,3,3,3] frozen\n"
            "  fc1      Linear       130  weight [2,64], bias [2]\n"
            "  norm     BatchNorm1d    9  weight [2], bias [2], running_mean [2] buffer, "
            "running_var [2] buffer, num_batches_tracked [] buffer\n"
            "  dropout  Dropout        0\n"
            "  fc2      Linear        15  weight [5,2], bias [5] frozen\n"
            "262 numbers: 144 trained, 113 frozen, 5 in buffers\n");
  EXPECT_EQ(size_of(network), (NetworkSize{144, 113, 5}));
}

TEST(ModuleStage, ATensorOfTwoPartsCountsOnce) {
  Perceptron net(2);
  net->register_parameter("tied", net->fc1->weight);
  const NetworkPart network = detail::network_tree(*net);
  EXPECT_EQ(size_of(network).total(), 262);
  EXPECT_THAT(to_text(network), HasSubstr("weight [2,64] shared"));
}

}  // namespace seam::module_test
