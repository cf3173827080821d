/// Stage `image.equalise`: equalises the lightness of an image, tile by tile (CLAHE).
#pragma once

#include <seam/stage.hpp>
#include <string_view>

class Equalise final : public seam::ParallelTransform {
 public:
  static constexpr std::string_view name = "image.equalise";

  void declare(seam::Declaration& d) override;
  void process(seam::Packet& packet, seam::Context& context) const override;

 private:
  double clip_limit_ = 2;
  int tiles_ = 8;
};
