/// Stage `template.stage`: measures the brightness of an image.
#pragma once

#include <seam/stage.hpp>
#include <string_view>

/// A new field is a constant with its name and type.
inline constexpr seam::Field<double> brightness{"brightness"};

class TemplateStage final : public seam::ParallelTransform {  // process() is const: many threads
 public:
  static constexpr std::string_view name = "template.stage";  // `use` in a pipeline file

  void declare(seam::Declaration& d) override;
  void process(seam::Packet& packet, seam::Context& context) const override;

 private:
  double least_ = 0;  // the default
};
