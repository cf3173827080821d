/// The sink `sampling.mined`: embeddings of the training images, and the hard negatives among them.
///
///     mine    train_items ──► decode ──► batch ──► model ──► [ mined ]
///                                                                │ mined = "..."
///     train   train_items ──────────────────────────────► [ triplets ] ──► decode ──► ...
#pragma once

#include <seam/tensor.hpp>

#include "stages/sampling/mined_negatives.hpp"

namespace seam::stages {

/// How two images are compared.
enum class Compare : std::uint8_t { embedding, anchor_capsule };

class Mined final : public Compute<Sink>, public MinedNegatives {
 public:
  static constexpr std::string_view name = "sampling.mined";

  void declare(Declaration& d) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void end(Context& context) override;
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;

  void want(const MiningRule& rule) override;
  [[nodiscard]] const MinedLists* lists(const MiningRule& rule) const override;
  [[nodiscard]] std::span<const MinedImage> images() const override { return images_; }

 private:
  /// The batches as received, in rows.
  struct Embedded {
    std::vector<MinedImage> images;
    std::vector<std::int64_t> categories;
    std::vector<Origin> origins;
    std::vector<Tensor> vectors;  // one per batch
  };
  struct Wanted {
    MiningRule rule;
    std::optional<MinedLists> lists;
  };

  void forget();
  [[nodiscard]] Embedded sorted() const;
  [[nodiscard]] static std::vector<std::int64_t> drawn_positives(
      const std::vector<std::int64_t>& items, const std::vector<MinedImage>& images,
      const Context& context);

  Compare compare_ = Compare::embedding;
  std::vector<Wanted> wanted_;
  std::vector<MinedImage> images_;  // the mined images
  Embedded embedded_;               // in the current flow
};

}  // namespace seam::stages
