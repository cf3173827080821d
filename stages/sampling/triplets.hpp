/// The collector `sampling.triplets`: collects the images of an epoch, then emits triplets.
///
///     images ──► [ rows ] ──► anchor 0, positive 0, negative 0, anchor 1, ...
///                   ▲ mined = "...": hard negatives of sampling.mined
///
/// It collects names and labels, not pixels, so it belongs before the decoder.
#pragma once

#include <cstdint>
#include <optional>
#include <seam/reference.hpp>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stages/sampling/mined_negatives.hpp"
#include "stages/sampling/triplet_sampling.hpp"

namespace seam::stages {

class Triplets final : public Collector {
 public:
  static constexpr std::string_view name = "sampling.triplets";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet packet, Emitter& emitter, Context& context) override;
  /// Emits one triplet per call.
  More end(Emitter& emitter, Context& context) override;

 private:
  /// The row of this flow for each position among mined images; empty: as drawn.
  struct MinedRows {
    std::vector<std::int64_t> negatives;
    std::vector<std::int64_t> positives;
  };

  void start(const Context& context);
  [[nodiscard]] bool mines_in(const Context& context) const;
  [[nodiscard]] MiningRule rule() const { return {negatives_, margin_.value_or(usual_margin)}; }
  [[nodiscard]] const MinedLists& mined_lists(const Context& context) const;
  [[nodiscard]] MinedRows mined_rows(const MinedLists& lists) const;
  [[nodiscard]] std::vector<std::int64_t> positions_of_mined() const;

  static constexpr double usual_margin = 2.0;  // that of loss.triplet

  AnchorChoice anchors_ = AnchorChoice::with_replacement;
  SingleImageItems single_images_ = SingleImageItems::pair_with_itself;
  NegativeSource negatives_ = NegativeSource::random_other_item;
  std::optional<std::int64_t> per_epoch_;
  std::int64_t multiple_of_ = 1;
  std::int64_t random_epochs_ = 0;
  std::optional<double> margin_;
  Ref<MinedNegatives> mined_;

  std::vector<Packet> rows_;
  std::vector<std::int64_t> items_;
  std::unordered_map<std::string, std::int64_t> item_numbers_;
  std::optional<TripletSampler> sampler_;
  MinedRows mined_rows_;
  std::int64_t next_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace seam::stages
