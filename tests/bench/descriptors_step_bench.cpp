/// One training step of the network of pipelines/descriptors/type-d.toml:
///
///     32 images of 8 items ─► SE-ResNet ─► group enhancement ─► self-attention ─► 3 descriptors
///       descriptors ─► class capsules ─┬─► unit length ─► batch-hard triplets ─────────┐
///       descriptors ───────────────────┴─► item logits ─► cross entropy, 10 x cost ────┴─► Adam
///
///     descriptors_step_bench [--network small|published] [--items 8] [--images 4] [--size 0]
///                            [--steps 5] [--threads 2] [--precision bfloat16] [--save FILE]
///
/// `small` has the file's sizes, at 96x96 pixels, `published` those of the paper on Stanford Online
/// Products, at 284x423 (height x width); --size sets a different side of square images. Every
/// stage computes in the precision and passes on float32, as in a run. --save writes images and
/// initial weights for peers/descriptors_step.py, which must get the same loss and gradient in the
/// first step; with --steps 0 that is the only step.
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <seam/safetensors.hpp>
#include <seam/tensor.hpp>

#include "pipeline/run/freed_memory.hpp"
#include "stages/loss/batch_hard.hpp"
#include "stages/loss/cost_sensitive.hpp"
#include "stages/loss/cross_entropy.hpp"
#include "stages/model/base/residual.hpp"
#include "stages/model/capsule_module.hpp"
#include "stages/model/concat.hpp"
#include "stages/model/descriptors.hpp"
#include "stages/model/spatial_group_enhance.hpp"
#include "stages/nn/self_attention.hpp"
#include "tests/bench/adam_weights.hpp"
#include "tests/bench/measuring.hpp"
#include "tests/bench/torch_threads.hpp"

namespace {

using namespace seam::nn;  // the measured classes
using torch::Tensor;

struct Sizes {
  std::vector<std::int64_t> blocks;
  std::int64_t width;
  std::int64_t descriptor;  ///< 0: the number of channels of the map
  std::int64_t categories;
  std::int64_t items;
  std::int64_t image_height, image_width;
};

Sizes sizes_of(const std::string& network) {
  if (network == "small") return {{1, 1, 1, 1}, 16, 192, 23, 3997, 96, 96};
  if (network == "published") return {{3, 4, 6, 3}, 64, 0, 12, 10517, 284, 423};
  throw std::invalid_argument("--network is small or published");
}

ResidualOptions backbone(const Sizes& sizes) {
  ResidualOptions options;
  options.style = ResidualStyle::caffe;
  options.block = ResidualBlock::bottleneck;
  options.squeeze_excitation = true;
  options.blocks = sizes.blocks;
  options.width = sizes.width;
  options.last_stride = 1;
  options.normalise_map = true;
  return options;
}

GlobalDescriptorsOptions described(const Sizes& sizes) {
  GlobalDescriptorsOptions options;
  options.channels = backbone(sizes).features();
  options.descriptors = {Pooling::average, Pooling::generalised_mean,
                         Pooling::generalised_mean_by_channel};
  options.dimensions = sizes.descriptor;
  options.unit_length = UnitLength::each;
  return options;
}

CapsuleModuleOptions class_capsules(const Sizes& sizes) {
  CapsuleModuleOptions options;
  options.width = described(sizes).length();
  options.classes = sizes.categories;
  return options;
}

ConcatModuleOptions concatenated(const Sizes& sizes) {
  ConcatModuleOptions options;
  options.width = described(sizes).length();
  options.capsules = sizes.categories;
  options.capsule_size = 16;
  options.classes = sizes.items;
  return options;
}

/// Parts have the names of the stages in the file.
class NetworkImpl : public torch::nn::Module {
 public:
  explicit NetworkImpl(const Sizes& sizes)
      : model_(register_module("model", ResidualNetwork(backbone(sizes)))),
        enhance_(register_module("enhance", SpatialGroupEnhance(backbone(sizes).features(), 64))),
        attention_(register_module("attention", SelfAttention(backbone(sizes).features()))),
        descriptors_(register_module("descriptors", GlobalDescriptors(described(sizes)))),
        capsules_(register_module("capsules", CapsuleModule(class_capsules(sizes), 1))),
        together_(register_module("together", ConcatModule(concatenated(sizes)))) {
    const torch::NoGradGuard no_gradient;
    for (const auto& item : named_parameters()) {
      Tensor weight = item.value();
      if (weight.dim() == 4) {
        weight.set_data(weight.contiguous(torch::MemoryFormat::ChannelsLast));  // as ModuleStage
      }
      // At their initial 0, the gates and the attention would have no effect on the comparison.
      if (weight.eq(0).all().item<bool>()) weight.fill_(0.1);
    }
  }

  ConcatModuleOutput forward(const Tensor& images, seam::Precision precision) {
    const auto stage = [&](const auto& compute) {
      const seam::Autocast autocast(torch::kCPU, precision);
      return compute().to(torch::kFloat32);
    };
    const Tensor map = stage([&] { return model_(images).feature_map; });
    const Tensor enhanced = stage([&] { return enhance_(map); });
    const Tensor attended = stage([&] { return attention_->forward_map(enhanced); });
    const Tensor all = stage([&] { return descriptors_(attended).embedding; });
    const Tensor classes = stage([&] { return capsules_(all).capsules; });
    ConcatModuleOutput output;
    output.logits = stage([&] {
      output = together_(all, classes);
      return output.logits;
    });
    output.embedding = output.embedding.to(torch::kFloat32);
    return output;
  }

 private:
  ResidualNetwork model_{nullptr};
  SpatialGroupEnhance enhance_{nullptr};
  SelfAttention attention_{nullptr};
  GlobalDescriptors descriptors_{nullptr};
  CapsuleModule capsules_{nullptr};
  ConcatModule together_{nullptr};
};
TORCH_MODULE(Network);

Tensor rows_of(const Tensor& matrix, const std::vector<std::int64_t>& rows) {
  return matrix.index_select(0, torch::tensor(rows, torch::kInt64));
}

class Trainer {
 public:
  Trainer(const Sizes& sizes, std::int64_t items, std::int64_t images, seam::Precision precision)
      : network_(sizes),
        weights_(*network_),
        precision_(precision),
        images_(torch::rand({items * images, 3, sizes.image_height, sizes.image_width})
                    .contiguous(torch::MemoryFormat::ChannelsLast)),
        labels_(torch::arange(items).repeat_interleave(images)) {
    const auto* const label = labels_.data_ptr<std::int64_t>();
    items_.assign(label, label + labels_.numel());
  }

  [[nodiscard]] std::int64_t images() const { return images_.size(0); }
  [[nodiscard]] std::int64_t parameters() const { return weights_.count(); }

  struct Step {
    double loss;
    double gradient;  ///< its length
  };

  /// The first step is compared with the peer program.
  Step first_step() {
    const Tensor loss = backward();
    const double gradient = seam::stages::gradient_norm(weights_.gradients());
    optimise(loss);
    return {loss.item<double>(), gradient};
  }

  void step() { optimise(backward()); }

  void save(const std::string& file) const {
    seam::Archive archive;
    seam::put_tensor(archive, "images", images_.contiguous());
    seam::put_tensor(archive, "labels", labels_);
    for (const auto& item : network_->named_parameters()) {
      seam::put_tensor(archive, item.key(), item.value().detach().contiguous());
    }
    const std::vector<std::byte> bytes = seam::safetensors_bytes({archive.entries(), {}});
    std::ofstream stream(file, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    if (!stream.flush()) throw std::runtime_error("cannot write " + file);
  }

 private:
  Tensor backward() {
    const ConcatModuleOutput output = network_(images_, precision_);
    // Each of these is a separate stage: loss.batch_hard, loss.cross_entropy, loss.cost_sensitive.
    const Tensor plain = output.embedding.detach();
    const auto triplets = seam::stages::hard_triplets(torch::cdist(plain, plain, 2.0, 2), items_);
    const auto distances = [&](const std::vector<std::int64_t>& others) {
      return seam::stages::row_distances(rows_of(output.embedding, triplets.anchors),
                                         rows_of(output.embedding, others),
                                         seam::stages::PairDistance::euclidean);
    };
    Tensor loss =
        (distances(triplets.positives) - distances(triplets.negatives) + 0.3).clamp_min(0).mean();
    loss = loss + seam::stages::cross_entropy(output.logits, labels_, 0);
    loss = loss + 10 * seam::stages::cost_sensitive_loss(
                           output.logits, seam::stages::nominal_costs(output.logits, labels_));
    loss.backward();
    return loss.detach();
  }

  void optimise(const Tensor& loss) { weights_.step(loss, {.rate = 1e-3, .weight_decay = 5e-4}); }

  Network network_;
  seam::bench::AdamWeights weights_;
  seam::Precision precision_;
  Tensor images_, labels_;
  std::vector<std::int64_t> items_;
};

void measure(int count, char** arguments) {
  const seam::bench::Options options(count, arguments,
                                     {{"--network", "small"},
                                      {"--items", "8"},
                                      {"--images", "4"},
                                      {"--size", "0"},
                                      {"--steps", "5"},
                                      {"--threads", "0"},
                                      {"--precision", "float32"},
                                      {"--save", ""}});
  seam::bench::use_threads(options);
  Sizes sizes = sizes_of(options.text("--network"));
  if (options.number("--size") > 0) {
    sizes.image_height = sizes.image_width = options.number("--size");
  }
  seam::host::keep_freed_memory();  // as a run does
  torch::manual_seed(0);
  Trainer trainer(sizes, options.number("--items"), options.number("--images"),
                  options.text("--precision") == "bfloat16" ? seam::Precision::bfloat16
                                                            : seam::Precision::float32);
  if (!options.text("--save").empty()) trainer.save(options.text("--save"));
  const double before = seam::bench::peak_mebibytes();
  const Trainer::Step first = trainer.first_step();  // also allocates all memory
  std::vector<double> taken{0};
  seam::bench::Clock clock;
  for (std::int64_t step = 0; step < options.number("--steps"); ++step) {
    if (step == 0) taken.clear();
    clock.lap();
    trainer.step();
    taken.push_back(clock.lap() / static_cast<double>(trainer.images()));
  }
  std::printf(
      "descriptors_step ms_per_image=%.3f peak_mib=%.1f before_mib=%.1f loss=%.7g gradient=%.7g "
      "parameters=%lld\n",
      seam::bench::median(taken), seam::bench::peak_mebibytes(), before, first.loss, first.gradient,
      static_cast<long long>(trainer.parameters()));
}

}  // namespace

int main(int count, char** arguments) {
  return seam::bench::run(&measure, count, arguments);
}
