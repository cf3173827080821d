#include <gmock/gmock.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/module.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/safetensors.hpp>
#include <seam/testing.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace seam::module_test {

using seam::testing::Harness;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A dense layer, batch normalisation, dropout, a dense layer; and a convolution before them all.
class PerceptronImpl : public torch::nn::Module {
 public:
  explicit PerceptronImpl(std::int64_t hidden)
      : conv(register_module(
            "conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3).padding(1).bias(false)))),
        fc1(register_module("fc1", torch::nn::Linear(4 * 4 * 4, hidden))),
        norm(register_module("norm", torch::nn::BatchNorm1d(hidden))),
        dropout(register_module("dropout", torch::nn::Dropout(0.5))),
        fc2(register_module("fc2", torch::nn::Linear(hidden, 5))) {}
  Tensor forward(const Tensor& images) { return fc2(dropout(norm(fc1(conv(images).flatten(1))))); }

  torch::nn::Conv2d conv;
  torch::nn::Linear fc1;
  torch::nn::BatchNorm1d norm;
  torch::nn::Dropout dropout;
  torch::nn::Linear fc2;
};
TORCH_MODULE(Perceptron);

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
  Packet packet;
  packet.set(
      field::images,
      (torch::arange(6 * 3 * 4 * 4).to(torch::kFloat32).view({6, 3, 4, 4}) * 0.37 + offset).sin());
  return packet;
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

/// A stage in its harness, with access to the stage.
struct Trial {
  explicit Trial(const std::string& name = "model")
      : owned(std::make_unique<PerceptronStage>()),
        stage(owned.get()),
        harness(name, std::move(owned)) {}
  std::unique_ptr<PerceptronStage> owned;
  PerceptronStage* stage;
  Harness harness;

  std::map<std::string, Tensor> state() const {
    std::map<std::string, Tensor> copies;
    for (const auto& [name, tensor] : detail::named_state(*stage->net())) {
      copies[name] = tensor.detach().clone();
    }
    return copies;
  }
  Tensor embed(const Packet& packet) {
    harness.forget();
    harness.push(packet);
    EXPECT_THAT(harness.errors(), IsEmpty());
    return harness.outputs().at(0).get(field::embedding);
  }
};

bool equal(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && torch::equal(x.second, y.second);
  });
}

std::filesystem::path write(const std::filesystem::path& file,
                            const std::map<std::string, Tensor>& tensors) {
  Archive archive;
  for (const auto& [name, tensor] : tensors) put_tensor(archive, name, tensor);
  const std::vector<std::byte> bytes = safetensors_bytes({archive.entries(), {}});
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return file;
}

/// The error of open(), or nothing.
std::string refusal(Harness& harness) {
  try {
    harness.open();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::configuration);
    return error.what();
  }
  return {};
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
  EXPECT_THAT(refusal(trial.harness),
              AllOf(HasSubstr("no weight matches 'fc3.*'"), HasSubstr("conv.weight, fc1.weight")));
}

TEST(ModuleStage, ImportsByName) {
  const test::TemporaryFolder folder;
  Trial source;
  source.harness.seed(8).open();
  auto state = source.state();
  state.erase("norm.num_batches_tracked");                    // older files have none
  state["fc1.bias"] = state["fc1.bias"].to(torch::kFloat64);  // converted
  state["decoder.weight"] = torch::ones({2});                 // no surprise
  const auto file = write(folder.path() / "weights.safetensors", state);
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
  const auto file = write(folder.path() / "weights.safetensors", state);
  Trial trial;
  trial.harness.set("weights", file.string());
  EXPECT_THAT(refusal(trial.harness),
              AllOf(HasSubstr(file.string()), HasSubstr("stage 'model'"),
                    HasSubstr("missing: fc2.weight\n"), HasSubstr("unexpected: fc3.weight\n"),
                    HasSubstr("different shape: norm.bias [9] instead of [8]\n")));
}

TEST(ModuleStage, RenamesAndSkips) {
  const test::TemporaryFolder folder;
  Trial source;
  source.harness.seed(8).open();
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : source.state()) state["backbone." + name] = tensor;
  state["backbone.fc2.weight"] = torch::zeros({1000, 8});
  const auto file = write(folder.path() / "weights.safetensors", state);
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
  EXPECT_THAT(refusal(unused.harness), HasSubstr("'head.=fc2.'"));
  Trial without_file;
  without_file.harness.set("skip", Value{std::vector<std::string>{"fc2.*"}});
  EXPECT_THAT(refusal(without_file.harness), HasSubstr("no 'weights'"));
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
