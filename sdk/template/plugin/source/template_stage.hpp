/// Stage `template.stage`: draws pictures of upright stripes.
#pragma once

#include <seam/stage.hpp>
#include <string_view>

class TemplateStage final : public seam::Source {
 public:
  static constexpr std::string_view name = "template.stage";  // what `use` says in a pipeline file

  void declare(seam::Declaration& d) override;
  void begin(seam::Context& context) override;
  seam::More produce(seam::Emitter& emitter, seam::Context& context) override;

 private:
  int pictures_ = 8;  // the default stands here, once
  int side_ = 64;
  int next_ = 0;
};
