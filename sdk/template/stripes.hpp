/// The source `example.stripes`: pictures of upright stripes, each wider than the last.
#pragma once

#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <utility>

class Stripes final : public seam::Source {
 public:
  static constexpr std::string_view name = "example.stripes";

  void declare(seam::Declaration& d) override {
    d.doc("Draws black and white stripes: picture i has stripes of i + 1 pixels.");
    d.parameter("pictures", pictures_, "how many to draw").range(1, 1000);
    d.parameter("side", side_, "height and width").range(8, 4096).unit("px");
    d.provides(seam::field::image);
    d.provides(seam::field::index);
  }

  void begin(seam::Context& /*context*/) override { next_ = 0; }

  seam::More produce(seam::Emitter& emitter, seam::Context& /*context*/) override {
    if (next_ == pictures_) return seam::More::no;
    const int width = ++next_;
    seam::Image image(side_, side_, 3);
    for (int y = 0; y < side_; ++y) {
      for (int x = 0; x < side_; ++x) {
        for (int c = 0; c < 3; ++c) image.row(y)[3 * x + c] = x / width % 2 == 0 ? 0 : 255;
      }
    }
    // The origin is what messages about this packet say.
    seam::Packet packet({nullptr, 0, "stripes of " + std::to_string(width) + " px"});
    packet.set(seam::field::image, std::move(image));
    packet[seam::field::index] = width - 1;
    emitter.emit(std::move(packet));
    return seam::More::yes;
  }

 private:
  int pictures_ = 8;
  int side_ = 64;
  int next_ = 0;
};
