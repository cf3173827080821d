// SPDX-License-Identifier: Apache-2.0
/// Runs one stage in a test, through the same wrapper as the host.
///
///     push(packet) ──► [ StageRunner ──► stage ] ──► outputs(), drops(), errors(), metrics()
///
///     seam::testing::Harness harness("sharpen", std::make_unique<Sharpen>());
///     harness.set("amount", 2.0).push(packet).finish();
///     EXPECT_EQ(harness.outputs().size(), 1);
///
/// Needs no plugin, no pipeline file and no TBB.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "seam/runner.hpp"

namespace seam::testing {

struct Dropped {
  Origin origin;
  std::string reason;
};

struct LogLine {
  LogLevel level;
  std::string text;
};

struct Report {
  std::string title;
  std::string text;
};

/// Services that record everything.
class SEAM_EXPORT RecordingServices final : public Services {
 public:
  void log(LogLevel level, std::string_view stage, std::string_view text) override;
  void metric(std::string_view stage, std::string_view name, double value) override;
  void report(std::string_view stage, std::string_view title, std::string_view text) override;
  [[nodiscard]] bool stop_requested() const override { return stop; }

  bool stop = false;
  std::vector<LogLine> lines;
  std::map<std::string, std::vector<double>> metrics;
  std::vector<Report> reports;

 private:
  std::mutex mutex_;
};

class SEAM_EXPORT Harness {
 public:
  Harness(std::string name, std::unique_ptr<Stage> stage);
  /// Closes the stage if it was opened. Prints failures that the test did not query to standard
  /// error, since they explain missing outputs.
  ~Harness();
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  // Before open(). Each returns *this.
  Harness& set(const std::string& parameter, Value value);
  Harness& set(const std::string& parameter, const char* text) {
    return set(parameter, Value{std::string(text)});
  }
  template <class T>
  requires std::is_arithmetic_v<T> Harness& set(const std::string& parameter, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return set(parameter, Value{value});
    } else if constexpr (std::is_integral_v<T>) {
      return set(parameter, Value{static_cast<std::int64_t>(value)});
    } else {
      return set(parameter, Value{static_cast<double>(value)});
    }
  }
  Harness& seed(std::uint64_t seed);
  Harness& compute_threads(int threads);
  /// Device of the stage: "cpu", "cuda:0".
  Harness& device(std::string device);
  Harness& precision(Precision precision);
  Harness& lanes(const Lanes& lanes);
  Harness& run_directory(std::filesystem::path directory);
  template <class Interface>
  Harness& refer(const std::string& parameter, Interface& target) {
    runner_.bind(parameter, &target);
    referred_.insert(parameter);
    return *this;
  }
  /// Binds these stages to the upstream references, in order; effective from open() on.
  Harness& upstream(std::vector<StageRunner*> stages);

  // Between flows.
  Harness& epoch(std::int64_t epoch);
  Harness& training(bool training);
  /// The value of context.flow(); default: "test".
  Harness& flow(std::string name);
  /// The value of context.trainings().
  Harness& trainings(std::int64_t before);

  /// Opens the stage; push, produce and finish do so if necessary. Throws the exceptions of open().
  Harness& open();
  /// Sets up the calling thread for the stage, as the host does before a flow; push, produce and
  /// finish do so for the first call of a flow.
  Harness& enter_thread();

  /// Pushes one packet into a transform, collector or sink; sequence numbers count from 0 in a
  /// flow.
  Harness& push(Packet packet);
  /// Pushes many packets, with `threads` threads for a ParallelTransform; outputs keep the order.
  Harness& push_all(std::vector<Packet> packets, int threads = 1);
  /// Calls a source until it has no more packets, or has emitted `most`.
  Harness& produce(std::size_t most = SIZE_MAX);
  /// Ends the flow: collectors emit their remaining packets. The next push begins a new flow.
  Harness& finish();
  /// Closes the stage, even in the middle of a flow. Throws the exceptions of close().
  Harness& close();

  [[nodiscard]] const std::vector<Packet>& outputs() const { return outputs_; }
  [[nodiscard]] std::vector<Packet> take_outputs() { return std::exchange(outputs_, {}); }
  [[nodiscard]] const std::vector<Dropped>& drops() const { return drops_; }
  /// The stage's failures. If a test never calls this, the destructor prints them.
  [[nodiscard]] const std::vector<Error>& errors() const {
    errors_asked_ = true;
    return errors_;
  }
  [[nodiscard]] const std::map<std::string, std::vector<double>>& metrics() const {
    return services_.metrics;
  }
  /// The last value of a metric; throws std::out_of_range if there is none.
  [[nodiscard]] double metric(const std::string& name) const {
    return services_.metrics.at(name).back();
  }
  [[nodiscard]] const std::vector<LogLine>& log() const { return services_.lines; }
  [[nodiscard]] const std::vector<Report>& reports() const { return services_.reports; }
  [[nodiscard]] RecordingServices& services() { return services_; }
  [[nodiscard]] StageRunner& runner() { return runner_; }
  /// Whether refer() has bound this parameter.
  [[nodiscard]] bool refers(const std::string& parameter) const {
    return referred_.contains(parameter);
  }
  [[nodiscard]] const std::vector<StageRunner*>& upstream() const { return upstream_; }
  /// Clears outputs, drops, errors, metrics, reports and log.
  void forget();

 private:
  class Collecting;
  void begin_flow();
  void note(const Packet& packet, const Outcome& outcome);

  RecordingServices services_;
  RunState run_;
  StageRunner runner_;
  std::vector<StageRunner*> upstream_;
  std::set<std::string> referred_;
  bool opened_ = false;
  bool in_flow_ = false;
  std::uint64_t pushed_ = 0;
  std::uint64_t emitted_ = 0;
  std::vector<Packet> outputs_;
  std::vector<Dropped> drops_;
  std::vector<Error> errors_;
  mutable bool errors_asked_ = false;  // mutable, because errors() is const
};

}  // namespace seam::testing
