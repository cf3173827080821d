/// Stage `template.stage`: normalises every image of a batch to mean 0 and standard deviation 1.
#pragma once

#include <seam/tensor.hpp>
#include <string_view>

/// Compute: runs on the thread that does all tensor work of a run.
class TemplateStage final : public seam::Compute<seam::Transform> {
 public:
  static constexpr std::string_view name = "template.stage";  // `use` in a pipeline file

  void declare(seam::Declaration& d) override;
  void process(seam::Packet& packet, seam::Context& context) override;

 private:
  double epsilon_ = 1e-6;  // the default
};
