#include "stages/model/torchscript.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace seam::stages {
namespace torchscript_test {

using seam::testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A small network as torch.jit.save writes it, without Python: the mean of the pixels, dropout in
/// training, a dense layer "head" with a running count of its calls.
std::filesystem::path exported(const test::TemporaryFolder& folder, const std::string& returned) {
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
  std::filesystem::path file = folder.path() / "network.pt";
  network.save(file.string());
  return file;
}

Packet batch() {
  torch::manual_seed(2);
  Packet packet;
  packet.set(field::images, torch::rand({4, 3, 8, 8}));
  return packet;
}

Tensor expected(const Packet& packet) {
  const Tensor weight = torch::arange(15).to(torch::kFloat32).view({5, 3}) * 0.1;
  return 2 * packet.get(field::images).mean({2, 3}).matmul(weight.t());
}

/// Exists as long as the tests.
const test::TemporaryFolder& lasting_folder() {
  static const test::TemporaryFolder folder;
  return folder;
}

const auto conformance = seam::testing::conformance<Torchscript>({
    .parameters = {{"file", exported(lasting_folder(), "y").string()}},
    .packets = [](Harness&) { return std::vector<Packet>{batch()}; },
});

struct Trial {
  Trial()
      : owned(std::make_unique<Torchscript>()),
        stage(owned.get()),
        harness("model", std::move(owned)) {}
  std::unique_ptr<Torchscript> owned;
  Torchscript* stage;
  Harness harness;
};

TEST(Torchscript, GivesWhatTheNetworkReturns) {
  const test::TemporaryFolder folder;
  Trial trial;
  trial.harness.set("file", exported(folder, "y").string()).push(batch());
  ASSERT_THAT(trial.harness.errors(), IsEmpty());
  EXPECT_TRUE(torch::allclose(trial.harness.outputs().at(0)[field::embedding], expected(batch())));
}

TEST(Torchscript, TakesOneOfSeveralResults) {
  const test::TemporaryFolder folder;
  const std::string file = exported(folder, "(images, y)").string();
  Trial trial;
  trial.harness.set("file", file).set("output", 1).push(batch());
  ASSERT_THAT(trial.harness.errors(), IsEmpty());
  EXPECT_TRUE(torch::allclose(trial.harness.outputs().at(0)[field::embedding], expected(batch())));
  for (const auto& [output, said] :
       {std::pair{0, "a tensor [4,3,8,8] for 4 images"}, std::pair{2, "returns 2 results"}}) {
    Trial refused;
    refused.harness.set("file", file).set("output", output).push(batch());
    ASSERT_THAT(refused.harness.errors(), SizeIs(1));
    EXPECT_THAT(refused.harness.errors()[0].what(), HasSubstr(said));
  }
}

TEST(Torchscript, ItsWeightsAreTrainedAndSavedUnderTheNamesOfPython) {
  const test::TemporaryFolder folder;
  Trial trial;
  trial.harness.set("file", exported(folder, "y").string()).training(true).push(batch());
  const std::vector<NamedWeight> weights = trial.stage->weights();
  ASSERT_THAT(weights, SizeIs(1));
  EXPECT_EQ(weights[0].name, "head.weight");
  trial.harness.outputs().at(0)[field::embedding].sum().backward();
  EXPECT_TRUE(weights[0].tensor.grad().defined());
  const Archive archive = trial.harness.runner().save();
  EXPECT_TRUE(archive.has("head.weight"));
  EXPECT_TRUE(archive.has("head.scale"));
  {
    const torch::NoGradGuard no_gradient;
    Tensor(weights[0].tensor).zero_();
  }
  trial.harness.finish();
  trial.harness.training(false).forget();
  trial.harness.push(batch());
  EXPECT_EQ(trial.harness.outputs().at(0)[field::embedding].abs().max().item<float>(), 0)
      << "the network does not compute with the weights that are trained";
}

TEST(Torchscript, AFrozenNetworkIsInEvaluationMode) {
  const test::TemporaryFolder folder;
  Trial trial;
  trial.harness.set("file", exported(folder, "y").string())
      .set("freeze", Value{std::vector<std::string>{"*"}})
      .training(true)
      .push(batch());
  EXPECT_TRUE(torch::allclose(trial.harness.outputs().at(0)[field::embedding], expected(batch())));
  Trial trained;
  trained.harness.set("file", exported(folder, "y").string()).training(true).push(batch());
  EXPECT_FALSE(
      torch::allclose(trained.harness.outputs().at(0)[field::embedding], expected(batch())));
}

TEST(Torchscript, OtherFilesAreRefused) {
  const test::TemporaryFolder folder;
  Trial text;
  text.harness.set("file", folder.write("network.pt", "weights").string());
  EXPECT_REFUSED(text.harness.open(), Fault::configuration,
                 "network.pt' cannot be read as TorchScript");
  Trial missing;
  missing.harness.set("file", (folder.path() / "none.pt").string());
  EXPECT_REFUSED(missing.harness.open(), Fault::configuration, "there is no file '");
}

}  // namespace torchscript_test
}  // namespace seam::stages
