#include "template_stage.hpp"

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace {

double mean_of(const seam::Image& image) {
  const std::span<const std::uint8_t> values = image.pixels();
  if (values.empty()) throw seam::Error("the image has no pixels");
  const auto sum = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  return static_cast<double>(sum) / static_cast<double>(values.size());
}

}  // namespace

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("Passes on the brightest image of each group of consecutive images.");
  d.parameter("of", of_, "images per group").range(1, 1000000);
  d.needs(seam::field::image);
}

void TemplateStage::begin(seam::Context& /*context*/) {
  seen_ = 0;
  brightest_.reset();
}

void TemplateStage::process(seam::Packet packet, seam::Emitter& emitter,
                            seam::Context& /*context*/) {
  const double brightness = mean_of(packet.get(seam::field::image));
  if (!brightest_ || brightness > brightness_) {
    brightness_ = brightness;
    if (brightest_) emitter.drop(*brightest_, "another one is brighter");
    brightest_ = std::move(packet);
  } else {
    // Received packets that are not emitted must be dropped with a reason.
    emitter.drop(packet, "another one is brighter");
  }
  if (++seen_ == of_) send(emitter);
}

seam::More TemplateStage::end(seam::Emitter& emitter, seam::Context& /*context*/) {
  if (brightest_) send(emitter);
  return seam::More::no;
}

void TemplateStage::send(seam::Emitter& emitter) {
  emitter.emit(*std::exchange(brightest_, std::nullopt));
  seen_ = 0;
}
