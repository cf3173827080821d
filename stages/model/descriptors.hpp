/// Stage `model.descriptors`: several global descriptors of one feature map, each of unit length,
/// concatenated.
///
///     feature_map [N,C,H,W]
///       ├─► pooling 1 ─┬► dense to D ─► unit length ─┐
///       │              └► bn, fc ─► logits [N,K]     ├─► concatenated, to unit length [N,n D]
///       └─► pooling 2 ──► dense to D ─► unit length ─┘
///
/// Jun, Ko, Kim, Kim, Kim, "Combination of Multiple Global Descriptors for Image Retrieval", 2019:
/// the classifier gets only the first descriptor, before its dense layer.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "stages/model/base/classifier_stage.hpp"
#include "stages/nn/layers.hpp"
#include "stages/nn/pooling.hpp"

namespace seam::nn {

/// Which parts of the embedding are scaled to length 1.
enum class UnitLength : std::uint8_t {
  together,  ///< each descriptor, and then all of them as one
  each,      ///< each descriptor: n of them have the length sqrt(n), and the same ranking
};

struct GlobalDescriptorsOptions {
  std::int64_t channels = 0;  ///< of the feature map
  std::vector<Pooling> descriptors = {Pooling::average, Pooling::generalised_mean};
  std::int64_t dimensions = 0;  ///< of each descriptor; 0: the pooled channels, no dense layer
  UnitLength unit_length = UnitLength::together;
  std::int64_t classes = 0;     ///< 0: no classifier
  std::int64_t map_height = 0;  ///< of the feature map; only for Pooling::none, which needs it
  std::int64_t map_width = 0;

  /// Elements that a pooling gives.
  [[nodiscard]] std::int64_t pooled(Pooling pooling) const;
  /// Length of all descriptors together.
  [[nodiscard]] std::int64_t length() const;
};

struct DescriptorsOutput {
  Tensor embedding;
  Tensor logits;  ///< undefined without classes
};

/// Submodules are named "pool1", "projection1", "pool2" and so on, "bn" and "fc".
class GlobalDescriptorsImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error for no descriptors, for no channels, and for a map's size without, or
  /// none with, a descriptor that depends on it.
  explicit GlobalDescriptorsImpl(GlobalDescriptorsOptions options);
  /// Throws seam::Error for a map with a different number of channels, or a different size than
  /// the set one.
  DescriptorsOutput forward(const Tensor& feature_map);

 private:
  GlobalDescriptorsOptions options_;
  std::vector<GlobalPooling> pools_;
  std::vector<Linear> projections_;  // none, or one for each
  BatchNorm2d bn_{nullptr};
  Linear fc_{nullptr};
};
TORCH_MODULE(GlobalDescriptors);

}  // namespace seam::nn

namespace seam::stages {

class Descriptors final : public ClassifierStage<nn::GlobalDescriptors> {
 public:
  static constexpr std::string_view name = "model.descriptors";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::GlobalDescriptors make() const override {
    return nn::GlobalDescriptors(options_);
  }
  void forward(nn::GlobalDescriptors& net, Packet& packet, Context& context) override;

  nn::GlobalDescriptorsOptions options_;
};

}  // namespace seam::stages
