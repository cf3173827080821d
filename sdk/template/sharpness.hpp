/// The stage `example.sharpness` and the field that it adds.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <seam/stage.hpp>
#include <string_view>

/// A field of one's own is a constant that carries name and type.
inline constexpr seam::Field<double> sharpness{"sharpness"};

class Sharpness final
    : public seam::ParallelTransform {  // process() is const: many threads at once
 public:
  static constexpr std::string_view name = "example.sharpness";

  void declare(seam::Declaration& d) override {
    d.doc("Measures how much neighbours in a row differ: 0 for an even picture, 255 at most.");
    d.parameter("least", least_, "drop pictures below this").range(0, 255);
    d.needs(seam::field::image);
    d.provides(sharpness);
  }

  void process(seam::Packet& packet, seam::Context& context) const override {
    const seam::Image& image = packet.get(seam::field::image);
    if (image.width() < 2) throw seam::Error("the picture is less than two pixels wide");
    double total = 0;
    for (int y = 0; y < image.height(); ++y) {
      const std::uint8_t* row = image.row(y);
      for (int x = image.channels(); x < image.width() * image.channels(); ++x) {
        total += std::abs(row[x] - row[x - image.channels()]);
      }
    }
    const int neighbours = image.height() * (image.width() - 1) * image.channels();
    packet.set(sharpness, total / neighbours);
    if (packet.get(sharpness) < least_) context.drop("not sharp enough");
  }

 private:
  double least_ = 0;  // the default stands here, once
};
