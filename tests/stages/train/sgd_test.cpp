#include "stages/train/sgd.hpp"

#include <gtest/gtest.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <memory>

#include "tests/stages/train/made_up_model.hpp"

namespace seam::stages::sgd_test {

using train_test::MadeUpModel;

const auto conformance = seam::testing::conformance<Sgd>({
    .packets = [](seam::testing::Harness& sgd) { return train_test::packets_of_upstream(sgd, 3); },
    .connect = [](seam::testing::Harness& sgd) { return train_test::connect_model(sgd); },
    .second = {{"warm_up", std::int64_t{4}}},  // of 1 step: none
});

const auto conformance_without_momentum = seam::testing::conformance<Sgd>({
    .name = "plain",
    .parameters = {{"momentum", 0.0}},
    .packets = [](seam::testing::Harness& sgd) { return train_test::packets_of_upstream(sgd, 3); },
    .connect = [](seam::testing::Harness& sgd) { return train_test::connect_model(sgd); },
    .refused = {{{"momentum", 0.0}, {"nesterov", true}}},
});

TEST(SgdStep, EqualsLibTorchsOptimizer) {
  const at::AutoGradMode gradients(true);
  for (const double momentum : {0.0, 0.9}) {
    for (const bool nesterov : {false, true}) {
      if (nesterov && momentum == 0) continue;
      for (const double weight_decay : {0.0, 0.01}) {
        torch::manual_seed(1);
        const Tensor start = torch::randn({40, 30});
        const Tensor ours = start.clone();
        const Tensor theirs = start.clone().requires_grad_(true);
        torch::optim::SGD optimizer(
            {theirs},
            torch::optim::SGDOptions(0.05).momentum(momentum).nesterov(nesterov).weight_decay(
                weight_decay));
        const Tensor velocity = momentum == 0 ? Tensor() : torch::zeros_like(ours);
        for (int step = 0; step < 20; ++step) {
          const Tensor gradient = torch::randn({40, 30});
          sgd_step(ours, gradient, velocity, {0.05, momentum, nesterov, weight_decay});
          Tensor(theirs).mutable_grad() = gradient.clone();
          optimizer.step();
        }
        EXPECT_TRUE(torch::allclose(ours, theirs, 1e-5, 1e-6))
            << momentum << ' ' << nesterov << ' ' << weight_decay;
      }
    }
  }
}

TEST(Sgd, TrainsWhatStandsUpstream) {
  StageRunner model("model", "test.model", std::make_unique<MadeUpModel>());
  seam::testing::Harness sgd("sgd", std::make_unique<Sgd>());
  sgd.training(true).upstream({&model}).set("rate", Value{0.05}).set("momentum", Value{0.5});
  train_test::train(sgd, 60);
  EXPECT_NEAR(train_test::model_of(model).weight[0].item<double>(), 3.0, 0.01);
  EXPECT_DOUBLE_EQ(sgd.metric("rate"), 0.05);
}

}  // namespace seam::stages::sgd_test
