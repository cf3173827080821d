/// What the stages of residual networks share; which network it is, a stage says.
///
///     model.resnet ──────┐
///     model.se_resnet50 ─┴─► ResidualStage: parameters laid over it ─► nn::ResidualNetwork
///
///     images ──► (embedding), (logits), (feature_map)
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "stages/class_vocabulary.hpp"
#include "stages/nn/residual.hpp"

namespace seam::stages {

class ResidualStage : public ModuleStage<nn::ResidualNetwork> {
 public:
  void open(Context& context) final;

 protected:
  /// `blocks`, `last_stride` and `width`.
  void declare_sizes(Declaration& d);
  /// What comes behind the blocks, and the fields; call it at the end of declare().
  void declare_outputs(Declaration& d);

 private:
  /// Makes the options those of this network, but for what a file says over it.
  virtual void choose_network(nn::ResidualOptions& options) const = 0;

  [[nodiscard]] nn::ResidualNetwork make() const final;
  void forward(nn::ResidualNetwork& net, Packet& packet, Context& context) final;
  [[nodiscard]] std::vector<std::string> without_place() const final;
  /// The embedding, and logits, of images and of their mirror images, averaged.
  [[nodiscard]] nn::ResidualOutput forward_mirrored(nn::ResidualNetwork& net,
                                                    const Tensor& images) const;
  /// The network, and what the file says over it.
  [[nodiscard]] nn::ResidualOptions options() const;
  /// Throws seam::Error for parameters that have no effect with others.
  void check_parameters() const;

  std::vector<std::int64_t> blocks_;
  nn::ResidualOptions options_;
  ClassVocabulary vocabulary_;
  bool embedding_ = true;
  bool feature_map_ = false;
  bool mirrored_ = false;
};

}  // namespace seam::stages
