/// Stage `loss.cross_entropy`: classification by category or by item.
#pragma once

#include <seam/loss.hpp>

#include <cstdint>
#include <string_view>

#include "stages/loss/class_labels.hpp"

namespace seam::stages {

class CrossEntropy final : public Loss {
 public:
  static constexpr std::string_view name = "loss.cross_entropy";

  /// The field used as logits.
  enum class From : std::uint8_t { logits, class_lengths };

  void declare(Declaration& d) override;
  void open(Context& /*context*/) override { labels_.reset(); }
  void save(Archive& archive) const override { labels_.save(archive); }
  void load(const Archive& archive) override { labels_.load(archive); }
  void batch_accepted() override;

 private:
  Tensor compute(const Packet& packet, Context& context) override;
  [[nodiscard]] const Field<Tensor>& field() const;

  From from_ = From::logits;
  ClassLabels labels_;
  double smoothing_ = 0;
  double temperature_ = 1;
};

}  // namespace seam::stages
