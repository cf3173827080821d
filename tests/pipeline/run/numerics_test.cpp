#include "pipeline/run/numerics.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "seam/error.hpp"
#include "seam/refusal_testing.hpp"
#include "tests/support/kept_environment.hpp"

namespace seam::host::numerics_test {

std::vector<std::string> one_cpu() {
  return {"cpu"};
}
std::vector<std::string> two_gpus() {
  return {"cpu", "cuda:0", "cuda:1"};
}

std::string device_for(const std::string& wanted, DeviceList devices) {
  CheckedPipeline pipeline;
  pipeline.spec.device = wanted;
  pipeline.devices = devices;
  return numerics_for(pipeline).device;
}

TEST(Numerics, AutoAndCudaTakeTheFirstGpu) {
  EXPECT_EQ(device_for("auto", &two_gpus), "cuda:0");
  EXPECT_EQ(device_for("auto", &one_cpu), "cpu");
  EXPECT_EQ(device_for("auto", nullptr), "cpu");
  EXPECT_EQ(device_for("cuda", &two_gpus), "cuda:0");
  EXPECT_EQ(device_for("cuda:1", &two_gpus), "cuda:1");
}

TEST(Numerics, MklIsReproducibleUnlessTheUserDecides) {
  const test::KeptEnvironment kept;
  ::unsetenv("MKL_CBWR");
  obey_numerics({.device = "cpu", .deterministic = false});
  EXPECT_EQ(std::getenv("MKL_CBWR"), nullptr);
  obey_numerics({.device = "cpu", .deterministic = true});
  EXPECT_STREQ(std::getenv("MKL_CBWR"), "AUTO,STRICT");
  ::setenv("MKL_CBWR", "COMPATIBLE", 1);
  obey_numerics({.device = "cpu", .deterministic = true});
  EXPECT_STREQ(std::getenv("MKL_CBWR"), "COMPATIBLE");
}

TEST(Numerics, TheCpuNeedsNoLibTorchThatIsAsked) {
  const auto never = []() -> std::vector<std::string> { throw Error("asked"); };
  EXPECT_EQ(device_for("cpu", never), "cpu");
}

TEST(Numerics, ADeviceThatDoesNotExistIsRefusedWithThoseThatDo) {
  CheckedPipeline pipeline;
  pipeline.spec.device = "cuda:2";
  pipeline.devices = &two_gpus;
  EXPECT_REFUSED((void)numerics_for(pipeline), Fault::configuration,
                 "device 'cuda:2' does not exist; there are cpu, cuda:0, cuda:1");
  pipeline.devices = &one_cpu;
  pipeline.plugins.emplace_back().manifest.libtorch = "none";
  pipeline.plugins.emplace_back().manifest.libtorch = "2.13.0+cpu";
  EXPECT_REFUSED((void)numerics_for(pipeline), Fault::configuration,
                 "there is cpu; LibTorch finds no GPU: it is a build for CPUs only");
  pipeline.devices = nullptr;
  EXPECT_REFUSED((void)numerics_for(pipeline), Fault::configuration,
                 "no plugin in this pipeline uses LibTorch");
}

TEST(Numerics, AreNamedInAFewWords) {
  EXPECT_EQ(to_text(Numerics{}), "cpu in float32");
  EXPECT_EQ(to_text(Numerics{"cuda:0", Precision::bfloat16, false}),
            "cuda:0 in bfloat16, not deterministic");
}

}  // namespace seam::host::numerics_test
