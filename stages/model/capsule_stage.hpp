/// Base class of capsule network stages; a stage's presets define its network.
///
///     model.sccapsnet ──┐
///     model.rccapsnet ──┴─► CapsuleStage: a preset with overrides ─► nn::CapsuleNetwork
///
///     images, (training: categories, groups, roles) ──► capsules, class_lengths,
///                                                        predicted_category, embedding
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "stages/class_vocabulary.hpp"
#include "stages/nn/capsule_network.hpp"

namespace seam::stages {

class CapsuleStage : public ModuleStage<nn::CapsuleNetwork> {
 public:
  /// Which of two contradicting descriptions provides the defaults.
  enum class Preset : std::uint8_t { as_published, as_released };
  /// Which class capsules the embedding keeps while training.
  enum class TrainMask : std::uint8_t { automatic, anchor_category, own_category, none };
  /// Which rows share batch statistics while training.
  enum class Towers : std::uint8_t { automatic, by_role, together };

 protected:
  /// By default a network for triplets.
  explicit CapsuleStage(TrainMask mask = TrainMask::automatic, Towers towers = Towers::automatic)
      : train_mask_(mask), towers_(towers) {}

  /// Everything but the stage's text; call it at the end of declare().
  void declare_network(Declaration& d);

  void open(Context& context) final;
  /// Capsules are categories: rejects data sets that number categories differently and, in
  /// training, those with other categories than the network has capsules for.
  void begin(Context& context) final;

 private:
  // Values that a file may set; `preset` if it does not.
  enum class Features : std::uint8_t {
    preset,
    stacked_convolutional,
    residual,
    one_convolution,
    stacked_valid
  };
  enum class ActivationChoice : std::uint8_t { preset, relu, leaky_relu };
  enum class LogitsChoice : std::uint8_t { preset, replace, accumulate };
  enum class WeightsChoice : std::uint8_t { preset, shared, own };
  enum class NormChoice : std::uint8_t { preset, capsule, class_capsules, none };
  enum class PaddingChoice : std::uint8_t { preset, none, same };
  enum class FansChoice : std::uint8_t { preset, matrix, tensor };

  /// Throws seam::Error (configuration) if a category has no capsule, or a capsule no category that
  /// trains it although all capsules are compared in evaluation.
  void require_capsule_for_each_category() const;

  [[nodiscard]] virtual nn::NetworkOptions preset(Preset which) const = 0;

  [[nodiscard]] nn::CapsuleNetwork make() const final;
  void forward(nn::CapsuleNetwork& net, Packet& packet, Context& context) final;
  /// The layout that the network's kernels read, if it has kernels.
  [[nodiscard]] torch::MemoryFormat memory_format() const final;

  void declare_sizes(Declaration& d, const nn::NetworkOptions& published,
                     const nn::NetworkOptions& released);
  void declare_layers(Declaration& d);
  void declare_routing(Declaration& d);
  /// The preset, overridden by the file's parameters.
  [[nodiscard]] nn::NetworkOptions options() const;
  /// The pass with batch statistics and dropout.
  [[nodiscard]] nn::ClassCapsules train(nn::CapsuleNetwork& net, const Packet& packet,
                                        const Context& context) const;
  /// The category whose capsule the embedding of each row keeps in training; undefined for all.
  [[nodiscard]] Tensor training_mask(const Packet& packet) const;

  Preset preset_ = Preset::as_released;
  Features features_ = Features::preset;
  std::optional<std::int64_t> classes_, width_, primary_channels_, capsule_size_;
  std::optional<std::int64_t> class_capsule_size_, first_stride_, image_height_, image_width_;
  ActivationChoice activation_ = ActivationChoice::preset;
  std::optional<double> slope_, residual_slope_, dropout_;
  std::int64_t iterations_ = 3;
  LogitsChoice logits_ = LogitsChoice::preset;
  WeightsChoice weights_ = WeightsChoice::preset;
  nn::RoutingOptions routing_;
  NormChoice norm_axis_ = NormChoice::preset;
  PaddingChoice last_padding_ = PaddingChoice::preset;
  FansChoice glorot_fans_ = FansChoice::preset;
  ClassVocabulary vocabulary_;
  TrainMask train_mask_;
  Towers towers_;
};

/// The category of each row's group's anchor; -1 stays. Throws seam::Error (configuration) if a
/// group has no anchor: using a row's own category instead would be a different mask.
[[nodiscard]] std::vector<std::int64_t> anchor_categories(
    const std::vector<std::int64_t>& categories, const std::vector<std::int64_t>& groups,
    const std::vector<Role>& roles);

}  // namespace seam::stages
