// SPDX-License-Identifier: Apache-2.0
/// Base classes of stages: their position in a flow and how they may be run.
///
///     Source ──► Transform, ParallelTransform ──► Collector ──► Sink
///     0 to n         1 to 1 (or dropped)           n to m       n to 0
///
/// Lifetime of a stage: declare, open, then begin, process ..., end for each run of a flow, and
/// finally close. Constructors do nothing; files, weights and memory are acquired in open(). Plain
/// stages see their packets one at a time and in sequence; only ParallelTransform::process, which
/// is const, is called by many threads at once.
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

/// Whether a flow can be interrupted between two packets of a stage, so that another process can
/// continue from the state that save() wrote.
enum class Pause : std::uint8_t {
  unsupported,  ///< the stage has state within a flow that save() does not write
  later,        ///< not yet, for example because half a batch has been collected
  ready,        ///< also if packets are to be repeated, as declared by Context::holds_from()
};

/// Receives the packets of sources and collectors.
class SEAM_EXPORT Emitter {
 public:
  virtual ~Emitter();
  /// Emits a packet; this sets its sequence number.
  virtual void emit(Packet packet) = 0;
  /// Reports that the stage discards a received packet and will not emit it in any form.
  virtual void drop(const Packet& packet, std::string reason) = 0;
};

class SEAM_EXPORT Stage {
 public:
  virtual ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  virtual void declare(Declaration& declaration) = 0;
  /// Once, after all parameters and references are set. References may be used from here on.
  virtual void open(Context& /*context*/) {}
  /// Before the first packet in each run of a flow.
  virtual void begin(Context& /*context*/) {}
  /// Once, after the last flow.
  virtual void close() {}

  /// Writes the state that a resumed run needs to continue bit-identically. For stages that
  /// declared keeps_state(); called between flows, and within a flow if pause() returns ready.
  virtual void save(Archive& /*archive*/) const {}
  /// Restores what save() wrote, after open(). Throws seam::Error if it does not fit.
  virtual void load(const Archive& /*archive*/) {}

  /// Called between two packets of a flow. Records outstanding metrics of processed packets, and
  /// returns whether the flow can be interrupted here and continued with load(), begin() and the
  /// following packets. For a collector, it is called while it emits; the collector is ready if it
  /// holds no other packet. It is not called for sources: a resumed flow runs them from the start.
  virtual Pause pause(Context& /*context*/) { return Pause::unsupported; }

  /// Called on the thread that will run the stage; Compute (tensor.hpp) uses it to set up LibTorch.
  virtual void enter_thread(const Context& /*context*/) const {}
  /// Called before each call that opens the stage or works in a flow; the result is destroyed after
  /// the call. Compute uses this to report LibTorch's warnings and the stage's gradients.
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

/// Emits packets.
class SEAM_EXPORT Source : public Stage {
 public:
  /// Emits a small portion (preferably one packet) and returns whether there are more; called again
  /// when the flow has capacity.
  virtual More produce(Emitter& emitter, Context& context) = 0;

  /// For sources whose produce() may wait, for example for a socket or a pipe: makes it return
  /// soon. Called from a different thread when the run should end, at any time between open() and
  /// close(), possibly before produce() begins to wait; may be called again. Must not wait for a
  /// call of produce(), because there may be none when a run ends.
  virtual void interrupt() {}

 protected:
  Source() : Stage(StageKind::source) {}
};

/// Changes packets one at a time.
class SEAM_EXPORT Transform : public Stage {
 public:
  virtual void process(Packet& packet, Context& context) = 0;
  /// After the last packet.
  virtual void end(Context& /*context*/) {}

 protected:
  Transform() : Stage(StageKind::transform) {}
};

/// Changes many packets in parallel: process() is const.
class SEAM_EXPORT ParallelTransform : public Stage {
 public:
  virtual void process(Packet& packet, Context& context) const = 0;
  virtual void end(Context& /*context*/) {}
  Pause pause(Context& /*context*/) override { return Pause::ready; }

 protected:
  ParallelTransform() : Stage(StageKind::parallel_transform) {}
};

/// Receives n packets and emits m: batches, groups, samplers.
class SEAM_EXPORT Collector : public Stage {
 public:
  virtual void process(Packet packet, Emitter& emitter, Context& context) = 0;
  /// After the last packet: emits the remaining packets, a small portion per call; called again
  /// while it returns yes.
  virtual More end(Emitter& /*emitter*/, Context& /*context*/) { return More::no; }

 protected:
  Collector() : Stage(StageKind::collector) {}
};

/// Consumes packets.
class SEAM_EXPORT Sink : public Stage {
 public:
  virtual void process(const Packet& packet, Context& context) = 0;
  /// After the last packet: reports the results of the whole flow.
  virtual void end(Context& /*context*/) {}

 protected:
  Sink() : Stage(StageKind::sink) {}
};

}  // namespace seam
