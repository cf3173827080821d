/// Base class of stages whose network gives an embedding for each image, and nothing else.
///
///     images ──► M, made from Options ──► embedding
#pragma once

#include <seam/module.hpp>

namespace seam::stages {

/// `Options` has `dimensions` and `unit_length`.
template <class M, class Options>
class EmbeddingStage : public ModuleStage<M> {
 protected:
  /// Declares the embedding and the parameters of all networks; call it at the end of declare().
  void declare_embedding(Declaration& d) {
    d.parameter("dimensions", options_.dimensions, "length of the embedding").range(1, 65536);
    d.parameter("unit_length", options_.unit_length, "whether to scale the embedding to length 1");
    d.provides(field::embedding).contract("f32[N," + std::to_string(options_.dimensions) + "]");
    this->declare_module(d);
  }

  Options options_;

 private:
  [[nodiscard]] M make() const final { return M(options_); }
  void forward(M& net, Packet& packet, Context& /*context*/) final {
    packet.set(field::embedding, net->forward(packet.get(field::images)));
  }
};

}  // namespace seam::stages
