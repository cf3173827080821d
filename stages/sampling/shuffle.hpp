/// The collector `sampling.shuffle`: collects the packets of an epoch, then emits them in a
/// different order.
///
///     0 1 2 3 4 5 ──► [ packets ] ──► 3 0 5 1 4 2
///
/// It collects names and labels, not pixels, so it belongs before the decoder.
#pragma once

#include <seam/stage.hpp>

namespace seam::stages {

class Shuffle final : public Collector {
 public:
  static constexpr std::string_view name = "sampling.shuffle";

  void declare(Declaration& d) override {
    d.doc(
        "Collects the packets of an epoch and emits them in a new random order in every epoch, "
        "depending on the run's seed. For losses on single images, which should not see the order "
        "of the list.\n\nPlace it between the data set and `image.decode`, so that it collects "
        "only the names of an epoch's images and not their pixels.");
  }
  void begin(Context& /*context*/) override {
    packets_.clear();
    sent_ = 0;
  }
  void process(Packet packet, Emitter& /*emitter*/, Context& /*context*/) override {
    packets_.push_back(std::move(packet));
  }
  /// Emits one packet per call.
  More end(Emitter& emitter, Context& context) override {
    if (packets_.empty()) return More::no;
    if (sent_ == 0) context.random(std::uint64_t{0}).shuffle(std::span(packets_));
    emitter.emit(std::move(packets_[sent_++]));
    return sent_ < packets_.size() ? More::yes : More::no;
  }

 private:
  std::vector<Packet> packets_;
  std::size_t sent_ = 0;
};

}  // namespace seam::stages
