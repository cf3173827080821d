/// Stage `loss.cost_sensitive`: the cost of a network's mistakes, in addition to a cross entropy.
///
///     logits [N,K], categories or items [N] ──► loss
#pragma once

#include <seam/loss.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "stages/loss/class_labels.hpp"

namespace seam::stages {

class CostSensitive final : public Loss {
 public:
  static constexpr std::string_view name = "loss.cost_sensitive";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void save(Archive& archive) const override { labels_.save(archive); }
  void load(const Archive& archive) override { labels_.load(archive); }
  void batch_accepted() override;

 private:
  enum class Costs : std::uint8_t { nominal, super_class, ordinal, file };

  Tensor compute(const Packet& packet, Context& context) override;
  /// Throws seam::Error for parameters that the kind of costs needs and lacks, or does not read.
  void check_parameters() const;
  [[nodiscard]] Tensor costs(const Tensor& logits, const Tensor& labels) const;

  ClassLabels labels_;
  Costs kind_ = Costs::nominal;
  std::vector<std::int64_t> super_classes_;
  std::optional<double> within_;
  std::optional<std::filesystem::path> file_;
  Tensor table_;  // of super_class i64[K], of file f32[K,K], on the run's device
};

}  // namespace seam::stages
