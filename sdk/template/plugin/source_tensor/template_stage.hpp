/// Stage `template.stage`: emits batches of noise.
#pragma once

#include <seam/tensor.hpp>
#include <string_view>

/// Compute: runs on the thread that does all tensor work of a run.
class TemplateStage final : public seam::Compute<seam::Source> {
 public:
  static constexpr std::string_view name = "template.stage";  // `use` in a pipeline file

  void declare(seam::Declaration& d) override;
  void begin(seam::Context& context) override;
  seam::More produce(seam::Emitter& emitter, seam::Context& context) override;

 private:
  int batches_ = 8;  // the default
  int size_ = 4;
  int side_ = 32;
  int next_ = 0;
};
