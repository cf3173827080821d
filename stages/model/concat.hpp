/// Stage `model.concat`: global descriptors and capsules side by side, for two losses.
///
///     descriptors [N,E] ─┬─► together [N,E+K*D] ─┬─► to unit length ──► embedding
///     capsules [N,K,D] ──┘                       └─► bn1, fc1 to 512, bn2, fc2 ──► logits
///
/// Durmuş, Güdükbay, Ulusoy, "Capsule networks with global descriptors for image retrieval", 2023,
/// section 3.4. The paper says "a series of batch normalization and fully connected layers" before
/// the classifier; their number and size are choices.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "stages/model/base/classifier_stage.hpp"
#include "stages/model/makes_capsules.hpp"
#include "stages/nn/layers.hpp"

namespace seam::nn {

/// The input of the classifier.
enum class Classified : std::uint8_t { together, capsules };

struct ConcatModuleOptions {
  Classified classified = Classified::together;
  std::int64_t width = 0;         ///< E; not read if only capsules are classified
  std::int64_t capsules = 0;      ///< K
  std::int64_t capsule_size = 0;  ///< D
  std::int64_t bottleneck = 512;
  std::int64_t classes = 0;

  /// Length of the embedding.
  [[nodiscard]] std::int64_t length() const { return width + capsules * capsule_size; }
};

struct ConcatModuleOutput {
  Tensor embedding;  ///< [N,E+K*D]; undefined if only capsules are classified
  Tensor logits;     ///< [N,classes]
};

/// Submodules are named "bn1", "fc1", "bn2" and "fc2". Dense layers have He's normal initialisation
/// (fan-in, He et al. 2015) and biases of 0.
class ConcatModuleImpl : public torch::nn::Module {
 public:
  /// Throws seam::Error for sizes below 1.
  explicit ConcatModuleImpl(const ConcatModuleOptions& options);
  /// `descriptors` may be undefined if only capsules are classified. Throws seam::Error for other
  /// sizes, and for different numbers of images.
  ConcatModuleOutput forward(const Tensor& descriptors, const Tensor& capsules);

 private:
  ConcatModuleOptions options_;
  BatchNorm2d bn1_{nullptr};
  Linear fc1_{nullptr};
  BatchNorm2d bn2_{nullptr};
  Linear fc2_{nullptr};
};
TORCH_MODULE(ConcatModule);

}  // namespace seam::nn

namespace seam::stages {

class Concat final : public ClassifierStage<nn::ConcatModule> {
 public:
  static constexpr std::string_view name = "model.concat";

  void declare(Declaration& d) override;
  /// Rejects capsules whose source does not match the type.
  void open(Context& context) override;

 private:
  /// The paper's architectures.
  enum class Type : std::uint8_t { a, b, c, d };

  void require_capsules_of_type(const Context& context) const;
  [[nodiscard]] bool together() const { return type_ != Type::a; }
  [[nodiscard]] nn::ConcatModule make() const override;
  void forward(nn::ConcatModule& net, Packet& packet, Context& context) override;

  Type type_ = Type::d;
  nn::ConcatModuleOptions options_;
  Refs<MakesCapsules> capsules_from_;
};

}  // namespace seam::stages
