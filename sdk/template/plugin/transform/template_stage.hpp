/// Stage `template.stage`: measures how bright a picture is.
#pragma once

#include <seam/stage.hpp>
#include <string_view>

/// A field of one's own is a constant that carries its name and its type.
inline constexpr seam::Field<double> brightness{"brightness"};

class TemplateStage final : public seam::ParallelTransform {  // process() is const: many threads
 public:
  static constexpr std::string_view name = "template.stage";  // what `use` says in a pipeline file

  void declare(seam::Declaration& d) override;
  void process(seam::Packet& packet, seam::Context& context) const override;

 private:
  double least_ = 0;  // the default stands here, once
};
