/// Base class of residual network stages; derived stages define the network.
///
///     model.resnet ──────┐
///     model.se_resnet50 ─┴─► ResidualStage: options with overrides ─► nn::ResidualNetwork
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
  /// Declares the parameters of the layers after the blocks, and the fields; call it at the end of
  /// declare().
  void declare_outputs(Declaration& d);

 private:
  /// Sets the options of this network, before the file's parameters override them.
  virtual void choose_network(nn::ResidualOptions& options) const = 0;

  [[nodiscard]] nn::ResidualNetwork make() const final;
  void forward(nn::ResidualNetwork& net, Packet& packet, Context& context) final;
  [[nodiscard]] std::vector<std::string> without_place() const final;
  /// The embedding, and logits, of images and of their mirror images, averaged.
  [[nodiscard]] nn::ResidualOutput forward_mirrored(nn::ResidualNetwork& net,
                                                    const Tensor& images) const;
  /// The network, overridden by the file's parameters.
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
