/// The collector `sampling.pk`: collects the images of an epoch, then emits batches of P items with
/// K images of each.
///
///     images ──► [ rows ] ──► item 7: K images, item 2: K images, ... P items    group 0
///                             item 5: K images, ...                              group 1
///
/// It collects names and labels, not pixels, so it belongs before the decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stages/sampling/pk_sampling.hpp"

namespace seam::stages {

class Pk final : public Collector {
 public:
  static constexpr std::string_view name = "sampling.pk";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet packet, Emitter& emitter, Context& context) override;
  /// Emits the images of one item per call.
  More end(Emitter& emitter, Context& context) override;

 private:
  void start(const Context& context);

  std::int64_t items_per_batch_ = 16;
  std::int64_t images_per_item_ = 4;
  std::int64_t categories_per_batch_ = 0;
  FewImages few_images_ = FewImages::repeat;
  std::optional<std::int64_t> per_epoch_;

  std::vector<Packet> rows_;
  std::vector<std::int64_t> items_;
  std::vector<std::int64_t> categories_;  // of the rows; empty without `categories`
  std::unordered_map<std::string, std::int64_t> item_numbers_;
  std::optional<PkSampler> sampler_;
  std::vector<std::int64_t> batch_;  // rows of the current batch
  std::size_t sent_ = 0;             // number of these already emitted
  std::int64_t next_ = 0;            // number of the next batch
  std::int64_t count_ = 0;
};

}  // namespace seam::stages
