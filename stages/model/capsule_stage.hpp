/// Base class of capsule network stages; a stage's two presets define its network.
///
///     model.sccapsnet ──┐
///     model.rccapsnet ──┴─► CapsuleStage: options of a preset ─► nn::CapsuleNetwork
///
///     images, (training: categories, groups, roles) ──► capsules, class_lengths,
///                                                        predicted_category, embedding
#pragma once

#include <seam/category_outputs.hpp>
#include <seam/module.hpp>

#include "stages/model/base/classifier_stage.hpp"
#include "stages/model/base/routed_stage.hpp"
#include "stages/nn/capsule_network.hpp"

namespace seam::stages {

class CapsuleStage : public RoutedStage<ClassifierStage<nn::CapsuleNetwork>>,
                     public CategoryOutputs {
 public:
  /// Which class capsules the embedding keeps while training.
  enum class TrainMask : std::uint8_t { automatic, anchor_category, own_category, none };
  /// Which rows share batch statistics while training.
  enum class Towers : std::uint8_t { automatic, by_role, together };

 protected:
  /// The network as in the released code, which is the default, and as in the thesis. By default it
  /// is one for triplets.
  CapsuleStage(const nn::NetworkOptions& released, const nn::NetworkOptions& published,
               TrainMask mask = TrainMask::automatic, Towers towers = Towers::automatic)
      : released_(released),
        published_(published),
        options_(released),
        train_mask_(mask),
        towers_(towers) {}

  /// Everything but the stage's text; call it at the end of declare().
  void declare_network(Declaration& d);

  /// Capsules are categories: rejects data sets that number categories differently and, in
  /// training, those with other categories than the network has capsules for.
  void begin(Context& context) final;

 private:
  /// Throws seam::Error (configuration) if a category has no capsule, or a capsule no category that
  /// trains it although all capsules are compared in evaluation.
  void require_capsule_for_each_category() const;
  /// Of categories that are in the training list, but in no served image.
  void warn_of_categories_without_images(const Context& context) const;

  [[nodiscard]] nn::CapsuleNetwork make() const final;
  void forward(nn::CapsuleNetwork& net, Packet& packet, Context& context) final;
  /// The layout that the network's kernels read, if it has kernels.
  [[nodiscard]] torch::MemoryFormat memory_format() const final;

  void declare_sizes(Declaration& d);
  void declare_capsules(Declaration& d);
  /// The pass with batch statistics and dropout.
  [[nodiscard]] nn::ClassCapsules train(nn::CapsuleNetwork& net, const Packet& packet,
                                        const Context& context) const;
  /// The category whose capsule the embedding of each row keeps in training; undefined for all.
  [[nodiscard]] Tensor training_mask(const Packet& packet) const;

  nn::NetworkOptions released_, published_, options_;
  TrainMask train_mask_;
  Towers towers_;
};

/// The category of each row's group's anchor; -1 stays. Throws seam::Error (configuration) if a
/// group has no anchor: using a row's own category instead would be a different mask.
[[nodiscard]] std::vector<std::int64_t> anchor_categories(
    const std::vector<std::int64_t>& categories, const std::vector<std::int64_t>& groups,
    const std::vector<Role>& roles);

}  // namespace seam::stages
