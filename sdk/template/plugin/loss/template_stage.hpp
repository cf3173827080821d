/// Stage `template.stage`: a loss of embeddings that are far from the mean of their category.
#pragma once

#include <seam/loss.hpp>
#include <string_view>

/// Loss: the parameter `weight`, adding to the losses before it, metrics of the accepted batches.
class TemplateStage final : public seam::Loss {
 public:
  static constexpr std::string_view name = "template.stage";  // what `use` says in a pipeline file

  void declare(seam::Declaration& d) override;

 private:
  [[nodiscard]] seam::Tensor compute(const seam::Packet& packet, seam::Context& context) override;

  double radius_ = 0.1;  // the default stands here, once
};
