/// The collector `sampling.pk`: takes in the images of an epoch, then sends batches of P items with
/// K images of each.
///
///     images ──► [ rows ] ──► item 7: K images, item 2: K images, ... P items    group 0
///                             item 5: K images, ...                              group 1
///
/// What it takes in is names and labels, not pixels: it belongs in front of the decoder.
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
  /// Emits the images of one item a call.
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
  std::vector<std::int64_t> categories_;  // of the rows; empty unless asked for
  std::unordered_map<std::string, std::int64_t> item_numbers_;
  std::optional<PkSampler> sampler_;
  std::vector<std::int64_t> batch_;  // rows of the batch that is being sent
  std::size_t sent_ = 0;             // of these
  std::int64_t next_ = 0;            // the number of the batch after it
  std::int64_t count_ = 0;
};

}  // namespace seam::stages
