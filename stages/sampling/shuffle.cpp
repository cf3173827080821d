#include "stages/sampling/shuffle.hpp"

#include <cstdint>
#include <span>
#include <utility>

namespace seam::stages {

void Shuffle::declare(Declaration& declaration) {
  declaration.doc(
      "Gathers the packets of an epoch and sends each of them on once, in another order in every "
      "epoch, which depends on the run's seed: for losses of single pictures, which should not see "
      "a list's order.\n\nStands behind a data set and in front of `image.decode`, so that an "
      "epoch's names are gathered, not its pixels.");
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
