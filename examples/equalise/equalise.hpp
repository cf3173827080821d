/// Stage `image.equalise`: evens out the light of a picture, tile by tile (CLAHE).
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
