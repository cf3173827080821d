#include "stages/model/torchscript.hpp"

#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/stages/model/network_testing.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::torchscript_test {

using seam::testing::Harness;

using Trial = test::With<Torchscript>;

/// A small network as torch.jit.save writes it, without Python: the mean of the pixels, dropout in
/// training, a dense layer "head" with a running count of its calls.
std::string exported(const std::string& returned) {
  static const test::TemporaryFolder folder;  // exists as long as the tests
  torch::jit::Module head("Head");
  head.register_parameter("weight", torch::arange(15).to(torch::kFloat32).view({5, 3}) * 0.1,
                          false);
  head.register_buffer("scale", torch::full({1}, 2.0));
  head.define("def forward(self, x):\n  return torch.matmul(x, self.weight.t()) * self.scale\n");
  torch::jit::Module network("Network");
  network.register_module("head", head);
  network.register_attribute("training", c10::BoolType::get(), true);
  network.define(
      "def forward(self, images):\n"
      "  pooled = torch.dropout(images.mean([2, 3]), 0.5, self.training)\n"
      "  y = self.head.forward(pooled)\n"
      "  return " +
      returned + "\n");
  std::string file = (folder.path() / (returned == "y" ? "network.pt" : "pair.pt")).string();
  network.save(file);
  return file;
}

/// A network with a weight "w", and buffers "mean", "variance" and "seen".
class Export {
 public:
  explicit Export(const std::string& forward, bool training = true) : network_("Network") {
    network_.register_parameter("w", torch::ones({3}), false);
    network_.register_buffer("mean", torch::zeros({3}));
    network_.register_buffer("variance", torch::ones({3}));
    network_.register_buffer("seen", torch::zeros({1}));
    network_.register_attribute("calls", c10::IntType::get(), 0);
    network_.register_attribute("training", c10::BoolType::get(), training);
    network_.define("def forward(self, images):\n" + forward);
    network_.save(file());
  }
  [[nodiscard]] std::string file() const { return (folder_.path() / "network.pt").string(); }

 private:
  test::TemporaryFolder folder_;
  torch::jit::Module network_;
};

std::string batch_norm(const std::string& mean, const std::string& training) {
  return "  x = torch.batch_norm(images, None, None, " + mean + ", " + training +
         ", 0.1, 1e-5, True)\n  return x.mean([2, 3]) * self.w\n";
}

std::string dropout(const std::string& arguments) {
  return "  return torch.dropout(images.mean([2, 3]) * self.w, " + arguments + ")\n";
}

std::vector<std::string> warnings_of(const Trial& trial) {
  std::vector<std::string> warnings;
  for (const auto& [level, text] : trial.log()) {
    if (level == LogLevel::warning) warnings.push_back(text);
  }
  return warnings;
}

Tensor expected(const Packet& packet) {
  const Tensor weight = torch::arange(15).to(torch::kFloat32).view({5, 3}) * 0.1;
  return 2 * packet.get(field::images).mean({2, 3}).matmul(weight.t());
}

const auto conformance = seam::testing::conformance<Torchscript>({
    .parameters = {{"file", exported("y")}},
    .packets = [](Harness&) { return std::vector<Packet>{test::images_of(4, 8, 8)}; },
});

TEST(Torchscript, GivesWhatTheNetworkReturns) {
  Trial trial;
  trial.set("file", exported("y")).push(test::images_of(4, 8, 8));
  ASSERT_THAT(trial.errors(), IsEmpty());
  EXPECT_TRUE(
      torch::allclose(trial.outputs().at(0)[field::embedding], expected(test::images_of(4, 8, 8))));
}

TEST(Torchscript, TakesOneOfSeveralResults) {
  const std::string file = exported("(images, y)");
  Trial trial;
  trial.set("file", file).set("output", 1).push(test::images_of(4, 8, 8));
  ASSERT_THAT(trial.errors(), IsEmpty());
  EXPECT_TRUE(
      torch::allclose(trial.outputs().at(0)[field::embedding], expected(test::images_of(4, 8, 8))));
  for (const auto& [output, said] :
       {std::pair{0, "a tensor [4,3,8,8] for 4 images"}, std::pair{2, "returns 2 results"}}) {
    Trial refused;
    refused.set("file", file).set("output", output).push(test::images_of(4, 8, 8));
    EXPECT_THAT(only_error(refused).what(), HasSubstr(said));
  }
}

TEST(Torchscript, ProvidesAFeatureMap) {
  const std::string file = exported("(images, y)");
  Trial trial;
  trial.set("file", file).set("provides", "feature_map").push(test::images_of(4, 8, 8));
  ASSERT_THAT(trial.errors(), IsEmpty());
  EXPECT_TRUE(torch::equal(trial.outputs().at(0)[field::feature_map],
                           test::images_of(4, 8, 8).get(field::images)));
  EXPECT_FALSE(trial.outputs().at(0).has(field::embedding));
  for (const auto& [key, value, said] :
       {std::tuple{"output", 1, "a tensor [4,5] for 4 images; a feature map must be [N,C,H,W]"},
        std::tuple{"dimensions", 4, "a tensor [4,3,8,8] for 4 images; set `dimensions = 3`"}}) {
    Trial refused;
    refused.set("file", file).set("provides", "feature_map").set(key, value);
    refused.push(test::images_of(4, 8, 8));
    EXPECT_THAT(only_error(refused).what(), HasSubstr(said));
  }
}

TEST(Torchscript, ItsWeightsAreTrainedAndSavedUnderTheNamesOfPython) {
  Trial trial;
  trial.set("file", exported("y")).training(true).push(test::images_of(4, 8, 8));
  const std::vector<NamedWeight> weights = trial.weights();
  ASSERT_THAT(weights, SizeIs(1));
  EXPECT_EQ(weights[0].name, "head.weight");
  trial.outputs().at(0)[field::embedding].sum().backward();
  EXPECT_TRUE(weights[0].tensor.grad().defined());
  const Archive archive = trial.runner().save();
  EXPECT_TRUE(archive.has("head.weight"));
  EXPECT_TRUE(archive.has("head.scale"));
  {
    const torch::NoGradGuard no_gradient;
    Tensor(weights[0].tensor).zero_();
  }
  trial.finish();
  trial.training(false).forget();
  trial.push(test::images_of(4, 8, 8));
  EXPECT_EQ(trial.outputs().at(0)[field::embedding].abs().max().item<float>(), 0)
      << "the network does not compute with the weights that are trained";
}

TEST(Torchscript, AFrozenNetworkIsInEvaluationMode) {
  Trial trial;
  trial.set("file", exported("y"))
      .set("freeze", Value{std::vector<std::string>{"*"}})
      .training(true)
      .push(test::images_of(4, 8, 8));
  EXPECT_TRUE(
      torch::allclose(trial.outputs().at(0)[field::embedding], expected(test::images_of(4, 8, 8))));
  Trial trained;
  trained.set("file", exported("y")).training(true).push(test::images_of(4, 8, 8));
  EXPECT_FALSE(torch::allclose(trained.outputs().at(0)[field::embedding],
                               expected(test::images_of(4, 8, 8))));
}

TEST(Torchscript, ComputesInThePrecisionOfTheRun) {
  const std::string file = exported("y");
  const auto reference = [](Precision precision) {
    const Autocast autocast(torch::kCPU, precision);
    return expected(test::images_of(4, 8, 8)).to(torch::kFloat32);
  };
  ASSERT_FALSE(torch::equal(reference(Precision::bfloat16), reference(Precision::float32)))
      << "the example shows nothing";
  for (const Precision precision : {Precision::bfloat16, Precision::float32}) {
    Trial trial;
    trial.precision(precision).set("file", file);
    // The interpreter of scripts may treat the first calls differently.
    for (int call = 0; call < 3; ++call) trial.push(test::images_of(4, 8, 8));
    ASSERT_THAT(trial.outputs(), SizeIs(3));
    for (const Packet& packet : trial.outputs()) {
      EXPECT_TRUE(torch::equal(packet[field::embedding], reference(precision)));
    }
  }
}

TEST(Torchscript, TellsWhatTheNetworkRaises) {
  const test::TemporaryFolder folder;
  torch::jit::Module network("Network");
  network.define(
      "def forward(self, images):\n"
      "  assert images.size(2) <= 4, 'four rows are enough'\n"
      "  return images.mean([2, 3])\n");
  network.save((folder.path() / "network.pt").string());
  Trial trial;
  trial.set("file", (folder.path() / "network.pt").string()).push(test::images_of(4, 8, 8));
  EXPECT_THAT(only_error(trial).what(),
              HasSubstr("the network raises an exception: AssertionError: four rows are enough"));
}

TEST(Torchscript, ATraceInTrainingModeIsRefused) {
  const std::string in_place =
      "  x = images.mean([2, 3])\n  torch.alpha_dropout_(x, 0.5, True)\n  return x\n";
  for (const auto& [forward, operation] :
       {std::pair{batch_norm("self.mean, self.variance", "True"), "aten::batch_norm"},
        std::pair{dropout("0.5, True"), "aten::dropout"},
        std::pair{in_place, "aten::alpha_dropout_"}}) {
    const Export network(forward);
    Trial trial;
    trial.set("file", network.file());
    EXPECT_REFUSED(trial.open(), Fault::configuration,
                   std::string("computes ") + operation +
                       " in training mode even in evaluation, like a trace of a network in "
                       "training mode; call network.eval() before the export");
  }
}

TEST(Torchscript, WhatFollowsTheModeOrIsDeliberateIsNotRefused) {
  const std::string statistics = "self.mean, self.variance";
  for (const std::string& forward :
       {batch_norm(statistics, "False"), batch_norm(statistics, "self.training"),
        batch_norm("None, None", "True"),  // a layer without running statistics
        dropout("0.5, self.training"), dropout("0.0, True"),
        "  if self.training:\n"
        "    images = torch.batch_norm(images, None, None, self.mean, self.variance, True, 0.1, "
        "1e-5, True)\n" +
            dropout("0.5, True")}) {
    const Export network(forward);
    Trial trial;
    trial.set("file", network.file()).push(test::images_of(4, 8, 8));
    EXPECT_THAT(trial.errors(), IsEmpty()) << forward;
  }
  const Export after_eval(dropout("0.5, True"), /*training=*/false);
  Trial trial;
  trial.set("file", after_eval.file()).push(test::images_of(4, 8, 8));
  EXPECT_THAT(trial.errors(), IsEmpty());
}

TEST(Torchscript, ABufferThatIsAssignedIsSaved) {
  const Export network(
      "  x = images.mean([2, 3]) * self.w\n"
      "  y = x * (1 + self.mean)\n"  // its gradient needs the mean as it was
      "  self.mean = 0.5 * self.mean + 0.5 * x.mean(0)\n"
      "  return y\n");
  const Tensor mean = test::images_of(4, 8, 8).get(field::images).mean({2, 3}).mean(0);
  Trial trial;
  trial.set("file", network.file()).training(true);
  for (const double share : {0.5, 0.75}) {
    trial.push(test::images_of(4, 8, 8));
    ASSERT_THAT(trial.errors(), IsEmpty());
    trial.outputs().back()[field::embedding].sum().backward();
    dynamic_cast<Torchscript&>(trial.runner().stage()).batch_accepted();
    EXPECT_TRUE(torch::allclose(saved_tensor(trial.runner().save(), "mean"), share * mean));
  }
  const Archive accepted = trial.runner().save();
  trial.push(test::images_of(4, 8, 8));  // and no step
  EXPECT_EQ(trial.runner().save(), accepted);
  EXPECT_THAT(warnings_of(trial), IsEmpty());
}

TEST(Torchscript, ABufferOfAnotherShapeIsRefusedInTraining) {
  const Export network(
      "  self.seen = torch.cat([self.seen, images.mean([1, 2, 3])])\n"
      "  return images.mean([2, 3]) * self.w\n");
  for (const bool training : {true, false}) {
    Trial trial;
    trial.set("file", network.file()).training(training).push(test::images_of(4, 8, 8));
    ASSERT_THAT(trial.errors(), SizeIs(training ? 1 : 0));
    if (!training) continue;
    EXPECT_THAT(trial.errors()[0].what(),
                HasSubstr("assigns a tensor [5] to buffer 'seen' with the shape [1]"));
  }
}

TEST(Torchscript, WarnsOfWhatTrainingWouldLose) {
  const Export counts(
      "  self.calls = self.calls + 1\n"
      "  return images.mean([2, 3]) * self.w * self.calls\n");
  const test::TemporaryFolder folder;
  torch::jit::Module constant("Network");  // as after torch.jit.freeze
  constant.define("def forward(self, images):\n  return images.mean([2, 3])\n");
  constant.save((folder.path() / "network.pt").string());
  for (const auto& [file, said] :
       {std::pair{counts.file(), "assigns 'calls', which checkpoints do not contain"},
        std::pair{(folder.path() / "network.pt").string(),
                  "has no parameters, as after torch.jit.freeze, so it is not trained"}}) {
    Trial trial;
    trial.set("file", file).training(true);
    for (int flow = 0; flow < 2; ++flow) trial.push(test::images_of(4, 8, 8)).finish();
    EXPECT_THAT(warnings_of(trial), Contains(HasSubstr(said)).Times(1));
    Trial evaluated;
    evaluated.set("file", file).push(test::images_of(4, 8, 8));
    EXPECT_THAT(warnings_of(evaluated), IsEmpty());
  }
}

TEST(Torchscript, OtherFilesAreRefused) {
  const test::TemporaryFolder folder;
  Trial text;
  text.set("file", folder.write("network.pt", "weights").string());
  EXPECT_REFUSED(text.open(), Fault::configuration, "network.pt' cannot be read as TorchScript");
  Trial missing;
  missing.set("file", (folder.path() / "none.pt").string());
  EXPECT_REFUSED(missing.open(), Fault::configuration, "there is no file '");
}

}  // namespace seam::stages::torchscript_test
