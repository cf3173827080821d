#include "stages/model/torchscript.hpp"

#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>

#include <string>
#include <tuple>
#include <vector>

#include "tests/stages/model/network_testing.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::torchscript_test {

using seam::testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
    ASSERT_THAT(refused.errors(), SizeIs(1));
    EXPECT_THAT(refused.errors()[0].what(), HasSubstr(said));
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
    ASSERT_THAT(refused.errors(), SizeIs(1));
    EXPECT_THAT(refused.errors()[0].what(), HasSubstr(said));
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
  ASSERT_THAT(trial.errors(), SizeIs(1));
  EXPECT_THAT(trial.errors()[0].what(),
              HasSubstr("the network raises an exception: AssertionError: four rows are enough"));
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
