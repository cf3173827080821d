/// One training step of the published network: 32 triplets of 256 x 256 images through three
/// towers, triplet loss, backward pass, Adam. An image is one tower pass of one input image.
///
///     step_bench [--steps 2] [--batch 32] [--size 256] [--threads 2] [--precision bfloat16]
#include <torch/types.h>
#include <torch/utils.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include <seam/tensor.hpp>

#include "pipeline/run/freed_memory.hpp"
#include "stages/loss/triplet.hpp"
#include "stages/nn/capsule_network.hpp"
#include "tests/bench/adam_weights.hpp"
#include "tests/bench/measuring.hpp"
#include "tests/bench/torch_threads.hpp"

namespace {

using namespace seam::nn;  // the measured classes
using seam::stages::triplet_loss;
using torch::Tensor;

class Trainer {
 public:
  Trainer(std::int64_t triplets, std::int64_t size, seam::Precision precision)
      : network_(sccapsnet_as_released(), 1),
        weights_(*network_),
        precision_(precision),
        triplets_(triplets) {
    images_ =
        torch::rand({3 * triplets, 3, size, size}).contiguous(torch::MemoryFormat::ChannelsLast);
    for (std::int64_t i = 0; i < 3 * triplets; ++i) towers_.push_back(i % 3);
    categories_ = torch::randint(23, {triplets}).repeat_interleave(3);
  }

  void step() {
    Tensor capsules;
    {
      const seam::Autocast autocast(torch::kCPU, precision_);
      capsules = network_->forward_towers(images_, towers_, {1, 2, 0, drawn_++}).capsules;
    }
    loss(capsules).backward();
    weights_.step(torch::zeros({}), {});
  }

 private:
  [[nodiscard]] Tensor loss(const Tensor& capsules) const {
    const Tensor embedding = mask_capsules(capsules, categories_).view({triplets_, 3, -1});
    return triplet_loss(embedding.select(1, 0), embedding.select(1, 1), embedding.select(1, 2), 2.0)
        .loss;
  }

  CapsuleNetwork network_;
  seam::bench::AdamWeights weights_;
  seam::Precision precision_;
  std::int64_t triplets_;
  Tensor images_, categories_;
  std::vector<std::int64_t> towers_;
  std::uint64_t drawn_ = 0;
};

void measure(int count, char** arguments) {
  const seam::bench::Options options(count, arguments,
                                     {{"--steps", "2"},
                                      {"--batch", "32"},
                                      {"--size", "256"},
                                      {"--threads", "0"},
                                      {"--precision", "float32"}});
  seam::bench::use_threads(options);
  const std::int64_t batch = options.number("--batch");
  const std::int64_t steps = options.number("--steps");
  const seam::Precision precision = options.text("--precision") == "bfloat16"
                                        ? seam::Precision::bfloat16
                                        : seam::Precision::float32;
  seam::host::keep_freed_memory();  // as a run does
  torch::manual_seed(0);
  Trainer trainer(batch, options.number("--size"), precision);
  const auto images = static_cast<double>(3 * batch);
  trainer.step();  // warm-up: allocates all memory
  seam::bench::Clock clock;
  std::vector<double> taken;
  for (std::int64_t step = 0; step < steps; ++step) {
    clock.lap();
    trainer.step();
    taken.push_back(clock.lap() / images);
  }
  std::printf("step ms_per_image=%.2f peak_gib=%.2f\n", seam::bench::median(taken),
              seam::bench::peak_mebibytes() / 1024);
}

}  // namespace

int main(int count, char** arguments) {
  return seam::bench::run(&measure, count, arguments);
}
