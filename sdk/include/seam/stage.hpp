// SPDX-License-Identifier: Apache-2.0
/// The classes that a stage derives from: its place in a flow and how it may be run.
///
///     Source ──► Transform, ParallelTransform ──► Collector ──► Sink
///     0 to n         1 to 1 (or dropped)           n to m       n to 0
///
/// Life of a stage: declare, open, then for each flow that runs begin, process ..., end, and at
/// last close. Constructors do nothing; files, weights and memory are taken in open(). Plain stages
/// see their packets one at a time and in sequence; only ParallelTransform::process, which is
/// const, is called by many threads at once.
#pragma once

#include <cstdint>
#include <memory>

#include "seam/archive.hpp"
#include "seam/context.hpp"
#include "seam/declaration.hpp"
#include "seam/error.hpp"
#include "seam/export.hpp"
#include "seam/packet.hpp"

namespace seam {

enum class StageKind : std::uint8_t { source, transform, parallel_transform, collector, sink };

/// Whether produce() or end() wants to be called again.
enum class More : std::uint8_t { no, yes };

/// Whether a flow can be left where a stage stands between two packets, so that another process
/// goes on from there with what save() wrote.
enum class Pause : std::uint8_t {
  unsupported,  ///< the stage holds something of the flow that save() does not write
  later,        ///< not before further packets: half a batch is gathered, say
  ready,        ///< of a collector: also what Context::holds_from() says comes again
};

/// Where sources and collectors put packets.
class SEAM_EXPORT Emitter {
 public:
  virtual ~Emitter();
  /// Sends a packet on; its sequence number is given here.
  virtual void emit(Packet packet) = 0;
  /// Accounts for a packet that the stage took in and will not send on in any form.
  virtual void drop(const Packet& packet, std::string reason) = 0;
};

class SEAM_EXPORT Stage {
 public:
  virtual ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  Stage(Stage&&) = delete;
  Stage& operator=(Stage&&) = delete;

  virtual void declare(Declaration& declaration) = 0;
  /// Once, after all parameters and references are set. References may be used from here on.
  virtual void open(Context& /*context*/) {}
  /// Before the first packet of a flow that runs.
  virtual void begin(Context& /*context*/) {}
  /// Once, after the last flow.
  virtual void close() {}

  /// Writes all that a resumed run needs to go on bit for bit. For stages that declared
  /// keeps_state(); called between flows, and within one where pause() says ready.
  virtual void save(Archive& /*archive*/) const {}
  /// Takes back what save() wrote, after open(). Throws seam::Error where it does not fit.
  virtual void load(const Archive& /*archive*/) {}

  /// Asked between two packets of a flow: records what is yet to be recorded of those that are
  /// through, and says whether the flow can be left here and gone on with by load(), begin() and
  /// the packets that follow. A collector is asked while it emits, and is ready where it holds no
  /// other packet. Sources are not asked: a flow that is resumed runs them from the start.
  virtual Pause pause(Context& /*context*/) { return Pause::unsupported; }

  /// Called on the thread that is about to run the stage; Compute (tensor.hpp) sets LibTorch up.
  virtual void enter_thread(const Context& /*context*/) const {}
  /// Called before each call that opens the stage or works in a flow; what it returns goes when the
  /// call has ended. Compute reports what LibTorch warns of, and which gradients are the stage's,
  /// this way.
  [[nodiscard]] virtual std::shared_ptr<void> around_call(const Context& /*context*/) const {
    return nullptr;
  }
  /// Whether the stage must run on the dedicated compute thread.
  [[nodiscard]] virtual bool on_compute_thread() const { return false; }

  [[nodiscard]] StageKind kind() const { return kind_; }

 protected:
  explicit Stage(StageKind kind) : kind_(kind) {}

 private:
  StageKind kind_;
};

/// Makes packets.
class SEAM_EXPORT Source : public Stage {
 public:
  /// Emits a small portion (at best one packet) and says whether there are more; called again as
  /// the flow has room.
  virtual More produce(Emitter& emitter, Context& context) = 0;

  /// For sources whose produce() may wait, for a socket or a pipe: makes it return soon. Called
  /// from another thread when the run is to end, at any time between open() and close(), perhaps
  /// before produce() begins to wait; may be called again. Must not wait for a call of produce():
  /// once a run ends, there may be none.
  virtual void interrupt() {}

 protected:
  Source() : Stage(StageKind::source) {}
};

/// Changes packets, one after the other.
class SEAM_EXPORT Transform : public Stage {
 public:
  virtual void process(Packet& packet, Context& context) = 0;
  /// After the last packet.
  virtual void end(Context& /*context*/) {}

 protected:
  Transform() : Stage(StageKind::transform) {}
};

/// Changes packets, many at once: process() is const.
class SEAM_EXPORT ParallelTransform : public Stage {
 public:
  virtual void process(Packet& packet, Context& context) const = 0;
  virtual void end(Context& /*context*/) {}
  Pause pause(Context& /*context*/) override { return Pause::ready; }

 protected:
  ParallelTransform() : Stage(StageKind::parallel_transform) {}
};

/// Takes n packets and makes m: batches, groups, samplers.
class SEAM_EXPORT Collector : public Stage {
 public:
  virtual void process(Packet packet, Emitter& emitter, Context& context) = 0;
  /// After the last packet: emits what is left, a small portion a call, again while it says yes.
  virtual More end(Emitter& /*emitter*/, Context& /*context*/) { return More::no; }

 protected:
  Collector() : Stage(StageKind::collector) {}
};

/// Consumes packets.
class SEAM_EXPORT Sink : public Stage {
 public:
  virtual void process(const Packet& packet, Context& context) = 0;
  /// After the last packet: the place to report what the whole flow amounts to.
  virtual void end(Context& /*context*/) {}

 protected:
  Sink() : Stage(StageKind::sink) {}
};

}  // namespace seam
