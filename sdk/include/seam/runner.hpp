// SPDX-License-Identifier: Apache-2.0
/// Runs one stage: the only code that calls a stage's methods, in the host and in the test harness.
///
///     host graph ─┐
///                 ├──► StageRunner ──► Stage       exceptions of any kind end here, as Outcome
///     harness ────┘
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "seam/stage.hpp"

namespace seam {

/// The result of processing a packet. The common case, delivered, has no overhead.
class SEAM_EXPORT Outcome {
 public:
  enum class Kind : std::uint8_t { delivered, dropped, failed };

  static Outcome delivered() { return {}; }
  static Outcome dropped(std::string reason);
  static Outcome failed(Error error);

  [[nodiscard]] Kind kind() const;
  explicit operator bool() const { return detail_ == nullptr; }  ///< delivered
  /// The reason for dropping it, or the error's message.
  [[nodiscard]] const std::string& reason() const;
  /// The error of a failed packet.
  [[nodiscard]] const Error& error() const;

 private:
  struct Detail;
  std::shared_ptr<const Detail> detail_;
};

class SEAM_EXPORT StageRunner {
 public:
  /// `name`: the stage's name in the pipeline; `type`: the value of `use` ("image.decode").
  StageRunner(std::string name, std::string type, std::unique_ptr<Stage> stage);
  ~StageRunner();
  StageRunner(const StageRunner&) = delete;
  StageRunner& operator=(const StageRunner&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] StageKind kind() const { return stage_->kind(); }
  [[nodiscard]] bool on_compute_thread() const { return stage_->on_compute_thread(); }
  /// Before configure() with defaults; afterwards with contracts computed from the parameters.
  [[nodiscard]] const Description& description() const { return declaration_.description(); }
  [[nodiscard]] Stage& stage() { return *stage_; }

  /// Sets parameters by name (references excluded: see bind), in addition to those of earlier
  /// calls; a single value is accepted as a list of one. Throws seam::Error (Fault::configuration)
  /// for an unknown name or an invalid value.
  void configure(const Values& values);
  /// The interface with that name as void*, or null if the stage does not provide it.
  [[nodiscard]] void* interface(std::string_view name) const;
  /// Points a reference parameter at another stage's interface.
  void bind(std::string_view parameter, void* target);
  /// Binds all upstream references, in flow order; called before each flow with the stages of the
  /// flow, and before open() with those of all flows. Errors name those that provide a field.
  void bind_upstream(const std::vector<StageRunner*>& before);

  /// Resets the `initial` parameters to their defaults, because the stage's state is restored.
  void forget_initial();

  // Each of the following throws seam::Error with the stage in its chain; exceptions of any type
  // from a plugin are converted. open() rejects parameters that are set without an effect.
  void open(const RunState& run);
  void begin(const RunState& run);
  void close();
  [[nodiscard]] Archive save() const;
  void load(const Archive& archive);

  /// On the thread that will run the stage in this flow.
  void enter_thread(const RunState& run) const;

  // These never throw. The packet calls check that the declared fields exist and, for the first
  // packets of a flow, that no other field was written. They add the packet's origin to errors.
  [[nodiscard]] Outcome produce(const RunState& run, Emitter& emitter, More& more);
  /// Sources only: asks produce() to return soon; from any thread.
  void interrupt() const;
  /// Transforms only; safe from many threads for a ParallelTransform.
  [[nodiscard]] Outcome transform(const RunState& run, Packet& packet);
  [[nodiscard]] Outcome collect(const RunState& run, Packet packet, Emitter& emitter);
  [[nodiscard]] Outcome consume(const RunState& run, const Packet& packet);
  /// Stage::pause(), and the first packet that a collector holds. Throws like open().
  struct Standing {
    Pause pause = Pause::unsupported;
    std::optional<std::uint64_t> held_from;
  };
  [[nodiscard]] Standing pause(const RunState& run);
  /// end(); `more` is yes only for a collector.
  [[nodiscard]] Outcome finish(const RunState& run, Emitter* emitter, More& more);
  /// Checks that the fields that the stage provides exist and satisfy their contracts, and that all
  /// fields of a batch have the same number of rows.
  [[nodiscard]] Outcome check_provided(const Packet& packet) const;
  /// Whether the stage was seen to write fields that it does not declare. Such a failure ends the
  /// flow, whatever `on_error` is.
  [[nodiscard]] bool broke_declaration() const { return broke_declaration_.load(); }

 private:
  [[nodiscard]] Outcome check_rows(const Packet& packet) const;
  template <class Body>
  Outcome watched(std::string_view doing, const RunState& run, const Packet& packet,
                  const Packet& named, Body&& body) const;
  [[noreturn]] Outcome broken(const std::string& problem) const;
  [[nodiscard]] Context context(const RunState& run) const { return {run, name_, stream_}; }
  template <class Body>
  Outcome guarded(std::string_view doing, const Packet* packet, Body&& body) const;
  template <class Body>
  void guarded_or_throw(std::string_view doing, Body&& body) const;

  std::string name_;
  std::string type_;
  std::uint64_t stream_;
  std::unique_ptr<Stage> stage_;
  Declaration declaration_;
  Values set_;
  std::map<std::string, std::string, std::less<>> providers_;  // by field, of the flow's stages
  mutable std::atomic<bool> broke_declaration_ = false;
};

}  // namespace seam
