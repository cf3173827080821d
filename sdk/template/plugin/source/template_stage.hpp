/// Stage `template.stage`: draws images of vertical stripes.
#pragma once

#include <seam/stage.hpp>
#include <string_view>

class TemplateStage final : public seam::Source {
 public:
  static constexpr std::string_view name = "template.stage";  // `use` in a pipeline file

  void declare(seam::Declaration& d) override;
  void begin(seam::Context& context) override;
  seam::More produce(seam::Emitter& emitter, seam::Context& context) override;

 private:
  int pictures_ = 8;  // the default
  int side_ = 64;
  int next_ = 0;
};
