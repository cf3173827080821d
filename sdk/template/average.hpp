/// The sink `example.average_sharpness`.
#pragma once

#include <seam/stage.hpp>
#include <string_view>

#include "sharpness.hpp"

class AverageSharpness final : public seam::Sink {
 public:
  static constexpr std::string_view name = "example.average_sharpness";

  void declare(seam::Declaration& d) override {
    d.doc("Reports the metric `sharpness`: the mean over all pictures of a flow.");
    d.needs(sharpness);
  }

  void begin(seam::Context& /*context*/) override {
    total_ = 0;
    pictures_ = 0;
  }
  void process(const seam::Packet& packet, seam::Context& /*context*/) override {
    total_ += packet.get(sharpness);
    ++pictures_;
  }
  void end(seam::Context& context) override {
    if (pictures_ > 0) context.metric("sharpness", total_ / pictures_);
  }

 private:
  double total_ = 0;
  int pictures_ = 0;
};
