/// The run's services for stages: routes their log messages, metrics and reports to files and to
/// the display.
#pragma once

#include <atomic>
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
  /// Whether reports, or warnings, are also shown. A training run makes the same reports
  /// repeatedly.
  enum class Reports : std::uint8_t { filed, shown };

  /// Appends to `log`; creates the folder `filed_in` for the first report.
  RunServices(Display& display, const StopState* stop, const std::filesystem::path& log,
              std::filesystem::path filed_in, Reports reports);

  // From any thread.
  void log(LogLevel level, std::string_view stage, std::string_view text) override;
  void metric(std::string_view stage, std::string_view name, double value) override;
  void report(std::string_view stage, std::string_view title, std::string_view text) override;
  [[nodiscard]] bool stop_requested() const override;

  /// Messages of the host: written to the log, and shown by Display::note or Display::message.
  void note(std::string_view text);
  void message(LogLevel level, std::string_view text);
  void warn(std::string_view text) { message(LogLevel::warning, text); }
  /// Writes only to the log.
  void log_only(LogLevel level, std::string_view text) { write_log(level, "", text); }

  /// Sets the names of the following reports: "epoch-0003-evaluate-...". `moment`: the part of the
  /// schedule, "before", "epoch-0003" or "after". `warnings`: those of the flow's stages.
  void flow_begins(const std::string& moment, const std::string& flow,
                   Reports warnings = Reports::shown);

  [[nodiscard]] Metrics& metrics() { return metrics_; }

 private:
  void write_log(LogLevel level, std::string_view stage, std::string_view text);

  Display& display_;       // both are owned by the caller and outlive the run
  const StopState* stop_;  // may be null
  Metrics metrics_;
  std::mutex mutex_;
  LineFile log_;
  bool log_failed_ = false;
  std::filesystem::path filed_in_;
  Reports reports_;
  std::atomic<Reports> warnings_ = Reports::shown;
  std::string report_prefix_;
  std::string moment_;
  std::map<std::string, int> report_names_;  ///< in this moment, with the number of uses
};

}  // namespace seam::host
