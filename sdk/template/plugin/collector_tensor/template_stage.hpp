/// Stage `template.stage`: joins batches into larger ones.
#pragma once

#include <seam/tensor.hpp>
#include <string_view>
#include <vector>

/// Compute: runs on the thread that does all tensor work of a run.
class TemplateStage final : public seam::Compute<seam::Collector> {
 public:
  static constexpr std::string_view name = "template.stage";  // `use` in a pipeline file

  void declare(seam::Declaration& d) override;
  void begin(seam::Context& context) override;
  void process(seam::Packet packet, seam::Emitter& emitter, seam::Context& context) override;
  seam::More end(seam::Emitter& emitter, seam::Context& context) override;

 private:
  void send(seam::Emitter& emitter);

  std::size_t batches_ = 4;  // the default
  std::vector<seam::Tensor> held_;
  std::vector<seam::Origin> origins_;
};
