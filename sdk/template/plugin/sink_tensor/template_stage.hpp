/// Stage `template.stage`: reports the mean brightness of images.
#pragma once

#include <cstdint>
#include <seam/tensor.hpp>
#include <string_view>

/// Compute: runs on the thread that does all tensor work of a run.
class TemplateStage final : public seam::Compute<seam::Sink> {
 public:
  static constexpr std::string_view name = "template.stage";  // `use` in a pipeline file

  void declare(seam::Declaration& d) override;
  void begin(seam::Context& context) override;
  void process(const seam::Packet& packet, seam::Context& context) override;
  void end(seam::Context& context) override;

 private:
  double scale_ = 1;  // the default
  double total_ = 0;
  std::int64_t pictures_ = 0;
};
