/// One training step of the published network: 32 triplets of 256 x 256 images through three
/// towers, triplet loss, backward pass, Adam. An image is one tower pass of one input image.
///
///     step_bench [--steps 2] [--batch 32] [--size 256] [--threads 2] [--precision bfloat16]
///                [--breakdown 1]
#include <torch/types.h>
#include <torch/utils.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
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
using seam::bench::Clock;
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
    loss(capsules()).backward();
    optimise();
  }

  /// The same work for one tower at a time, timed part by part.
  void step_in_parts(std::map<std::string, double>& parts) {
    Clock clock;
    const Tensor rows = torch::arange(0, 3 * triplets_, 3);
    std::vector<Tensor> features;
    std::vector<Tensor> cut;
    std::vector<Tensor> capsules;
    for (std::int64_t tower = 0; tower < 3; ++tower) {
      const Tensor images =
          images_.permute({0, 2, 3, 1}).index_select(0, rows + tower).permute({0, 3, 1, 2});
      parts["1 gather a tower's images"] += clock.lap();
      features.push_back(extracted(images));
      parts["2 extractor, forward"] += clock.lap();
      cut.push_back(features.back().detach().to(torch::kFloat32).requires_grad_(true));
      const Tensor u = squash(group_capsules(cut.back(), 16));
      parts["3 squash, forward"] += clock.lap();
      const Tensor v = route(u, network_->routing_weight, 23);
      capsules.push_back(normalise_capsules(v, NormAxis::capsule));
      parts["4 routing, forward"] += clock.lap();
    }
    const Tensor total = loss(torch::stack(capsules, 1).flatten(0, 1));
    parts["5 loss"] += clock.lap();
    total.backward();
    parts["6 loss, routing, squash, backward"] += clock.lap();
    for (std::size_t tower = 0; tower < 3; ++tower) {
      features[tower].backward(cut[tower].grad().to(features[tower].scalar_type()));
      cut[tower] = Tensor();
      features[tower] = Tensor();
    }
    parts["7 extractor, backward"] += clock.lap();
    optimise();
    parts["8 Adam"] += clock.lap();
  }

 private:
  DropoutKey key() { return {1, 2, 0, drawn_++}; }
  Tensor capsules() {
    const seam::Autocast autocast(torch::kCPU, precision_);
    return network_->forward_towers(images_, towers_, key()).capsules;
  }
  Tensor extracted(const Tensor& images) {
    const seam::Autocast autocast(torch::kCPU, precision_);
    return network_->extractor->forward(images, key());
  }
  [[nodiscard]] Tensor loss(const Tensor& capsules) const {
    const Tensor embedding = mask_capsules(capsules, categories_).view({triplets_, 3, -1});
    return triplet_loss(embedding.select(1, 0), embedding.select(1, 1), embedding.select(1, 2), 2.0)
        .loss;
  }
  void optimise() { weights_.step(torch::zeros({}), {}); }

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
                                      {"--precision", "float32"},
                                      {"--breakdown", "0"}});
  seam::bench::use_threads(options);
  const std::int64_t batch = options.number("--batch");
  const std::int64_t steps = options.number("--steps");
  const bool breakdown = options.number("--breakdown") != 0;
  const seam::Precision precision = options.text("--precision") == "bfloat16"
                                        ? seam::Precision::bfloat16
                                        : seam::Precision::float32;
  seam::host::keep_freed_memory();  // as a run does
  torch::manual_seed(0);
  Trainer trainer(batch, options.number("--size"), precision);
  const auto images = static_cast<double>(3 * batch);
  trainer.step();  // warm-up: allocates all memory
  Clock clock;
  std::vector<double> taken;
  std::map<std::string, double> parts;
  for (std::int64_t step = 0; step < steps; ++step) {
    clock.lap();
    if (breakdown) {
      trainer.step_in_parts(parts);
    } else {
      trainer.step();
    }
    taken.push_back(clock.lap() / images);
  }
  for (const auto& [part, milliseconds] : parts) {
    std::printf("%-36s %7.2f ms per image\n", part.c_str(),
                milliseconds / static_cast<double>(steps) / images);
  }
  std::printf("step ms_per_image=%.2f peak_gib=%.2f\n", seam::bench::median(taken),
              seam::bench::peak_mebibytes() / 1024);
}

}  // namespace

int main(int count, char** arguments) {
  return seam::bench::run(&measure, count, arguments);
}
