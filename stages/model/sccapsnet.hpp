/// Stage `model.sccapsnet`: the triplet capsule network as a transform on the compute thread.
///
///     images, (training: categories, groups, roles) ──► capsules, class_lengths,
///                                                        predicted_category, embedding
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stages/nn/capsule_network.hpp"

namespace seam::stages {

class Sccapsnet final : public ModuleStage<nn::CapsuleNetwork> {
 public:
  static constexpr std::string_view name = "model.sccapsnet";

  /// Which of the two contradicting descriptions decides where the file says nothing.
  enum class Preset : std::uint8_t { as_published, as_released };
  /// Which class capsules the embedding keeps while training.
  enum class TrainMask : std::uint8_t { anchor_category, own_category, none };
  /// What shares batch statistics while training.
  enum class Towers : std::uint8_t { by_role, together };

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::CapsuleNetwork make() const override;
  void forward(nn::CapsuleNetwork& net, Packet& packet, Context& context) override;
  /// The layout that the network's kernels read.
  [[nodiscard]] torch::MemoryFormat memory_format() const override {
    return torch::MemoryFormat::Contiguous;
  }
  /// The pass with batch statistics and dropout.
  [[nodiscard]] nn::ClassCapsules train(nn::CapsuleNetwork& net, const Packet& packet,
                                        const Context& context) const;
  /// The category whose capsule the embedding of each row keeps in training; undefined for all.
  [[nodiscard]] Tensor training_mask(const Packet& packet) const;

  Preset preset_ = Preset::as_released;
  nn::NetworkOptions options_;
  std::optional<double> slope_;
  std::int64_t iterations_ = 3;
  TrainMask train_mask_ = TrainMask::anchor_category;
  Towers towers_ = Towers::by_role;
};

/// The category of each row's group's anchor, or of the row itself where its group has none; -1
/// stays.
[[nodiscard]] std::vector<std::int64_t> anchor_categories(
    const std::vector<std::int64_t>& categories, const std::vector<std::int64_t>& groups,
    const std::vector<Role>& roles);

}  // namespace seam::stages
