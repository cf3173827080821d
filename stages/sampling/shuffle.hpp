/// The collector `sampling.shuffle`: collects the packets of an epoch, then emits them in a
/// different order.
///
///     0 1 2 3 4 5 ──► [ packets ] ──► 3 0 5 1 4 2
///
/// It collects names and labels, not pixels, so it belongs before the decoder.
#pragma once

#include <cstddef>
#include <seam/stage.hpp>
#include <string_view>
#include <vector>

namespace seam::stages {

class Shuffle final : public Collector {
 public:
  static constexpr std::string_view name = "sampling.shuffle";

  void declare(Declaration& declaration) override;
  void begin(Context& context) override;
  void process(Packet packet, Emitter& emitter, Context& context) override;
  /// Emits one packet per call.
  More end(Emitter& emitter, Context& context) override;

 private:
  std::vector<Packet> packets_;
  std::size_t sent_ = 0;
};

}  // namespace seam::stages
