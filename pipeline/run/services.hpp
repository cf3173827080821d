/// What a run does for its stages: their words, numbers and reports find their files and the
/// person who watches.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "pipeline/graph/flow.hpp"
#include "pipeline/run/display.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/metrics.hpp"
#include "seam/context.hpp"

namespace seam::host {

class RunServices final : public Services {
 public:
  /// Whether reports are shown as well as filed. A training makes the same ones again and again.
  enum class Reports : std::uint8_t { filed, shown };

  /// `log` is added to; the folder `filed_in` is made when the first report comes.
  RunServices(Display& display, const StopState* stop, const std::filesystem::path& log,
              std::filesystem::path filed_in, Reports reports);

  // From any thread.
  void log(LogLevel level, std::string_view stage, std::string_view text) override;
  void metric(std::string_view stage, std::string_view name, double value) override;
  void report(std::string_view stage, std::string_view title, std::string_view text) override;
  [[nodiscard]] bool stop_requested() const override;

  /// The host's own words: to the log, and to the person as Display::note or Display::message.
  void note(std::string_view text);
  void message(LogLevel level, std::string_view text);
  /// To the log alone.
  void log_only(LogLevel level, std::string_view text) { write_log(level, "", text); }

  /// Names the reports that follow: "epoch-0003-evaluate-...". `moment` is when in the schedule:
  /// "before", "epoch-0003", "after".
  void flow_begins(const std::string& moment, const std::string& flow);

  [[nodiscard]] Metrics& metrics() { return metrics_; }

 private:
  void write_log(LogLevel level, std::string_view stage, std::string_view text);

  Display& display_;       // both are the caller's and outlive the run
  const StopState* stop_;  // may be null
  Metrics metrics_;
  std::mutex mutex_;
  LineFile log_;
  bool log_failed_ = false;
  std::filesystem::path filed_in_;
  Reports reports_;
  std::string report_prefix_;
  std::string moment_;
  std::map<std::string, int> report_names_;  ///< of this moment, with how often each came
};

}  // namespace seam::host
