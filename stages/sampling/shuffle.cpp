#include "stages/sampling/shuffle.hpp"

#include <cstdint>
#include <span>
#include <utility>

namespace seam::stages {

void Shuffle::declare(Declaration& declaration) {
  declaration.doc(
      "Collects the packets of an epoch and emits them in a new random order in every epoch, "
      "depending on the run's seed. For losses on single images, which should not see the order of "
      "the list.\n\nPlace it between the data set and `image.decode`, so that it collects only the "
      "names of an epoch's images and not their pixels.");
}

void Shuffle::begin(Context& /*context*/) {
  packets_.clear();
  sent_ = 0;
}

void Shuffle::process(Packet packet, Emitter& /*emitter*/, Context& /*context*/) {
  packets_.push_back(std::move(packet));
}

More Shuffle::end(Emitter& emitter, Context& context) {
  if (packets_.empty()) return More::no;
  if (sent_ == 0) context.random(std::uint64_t{0}).shuffle(std::span(packets_));
  emitter.emit(std::move(packets_[sent_++]));
  return sent_ < packets_.size() ? More::yes : More::no;
}

}  // namespace seam::stages
