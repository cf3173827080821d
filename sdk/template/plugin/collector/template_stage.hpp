/// Stage `template.stage`: passes on the brightest image of each group.
#pragma once

#include <optional>
#include <seam/stage.hpp>
#include <string_view>

class TemplateStage final : public seam::Collector {
 public:
  static constexpr std::string_view name = "template.stage";  // `use` in a pipeline file

  void declare(seam::Declaration& d) override;
  void begin(seam::Context& context) override;
  void process(seam::Packet packet, seam::Emitter& emitter, seam::Context& context) override;
  seam::More end(seam::Emitter& emitter, seam::Context& context) override;

 private:
  void send(seam::Emitter& emitter);

  int of_ = 4;  // the default
  int seen_ = 0;
  double brightness_ = 0;
  std::optional<seam::Packet> brightest_;
};
