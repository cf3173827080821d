/// The collector `sampling.pairs`: collects the images of an epoch, then emits pairs.
///
///     images ──► [ rows ] ──► pair 0: two packets, same_item 1 │ pair 1: two packets, same_item 0
///
/// It collects names and labels, not pixels, so it belongs before the decoder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stages/export/exported_file.hpp"
#include "stages/sampling/pair_sampling.hpp"

namespace seam::stages {

class DrawnPairs final : public Collector {
 public:
  static constexpr std::string_view name = "sampling.pairs";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet packet, Emitter& emitter, Context& context) override;
  /// Emits one pair per call.
  More end(Emitter& emitter, Context& context) override;

 private:
  enum class Drawn : std::uint8_t { each_epoch, once, all, list };

  void start(const Context& context);
  void write_list(const Context& context) const;
  [[nodiscard]] Pair pair(std::int64_t number, const Context& context) const;

  Drawn drawn_ = Drawn::each_epoch;
  PairRule rule_ = PairRule::balanced;
  std::optional<std::int64_t> count_wanted_;
  std::uint64_t pair_seed_ = 0;
  std::filesystem::path list_;
  std::filesystem::path folder_ = "pairs";

  OneFlow flow_;
  std::vector<Packet> rows_;
  std::vector<std::int64_t> items_;
  std::unordered_map<std::string, std::int64_t> item_numbers_;
  std::optional<PairSampler> sampler_;
  std::vector<Pair> fixed_;  // unused with each_epoch
  std::int64_t next_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace seam::stages
