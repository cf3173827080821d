/// Writes a timeline of stages and packets, for Perfetto (ui.perfetto.dev) and chrome://tracing.
///
///     worker 1    decode 12 │ decode 15 │ augment 12 │
///     worker 2    decode 13 │ decode 14 │
///     compute            model 0                │ loss 0 │ adam 0 │
///     bytes of tensors   ▅▅▅▅▅▅▅                  ▆▆▆▆▆▆   █▆▆▆▆▆    the most in each call
///
/// The format is the "JSON Array Format" of Chrome's Trace Event Format: it is written during the
/// run, and the incomplete file of a killed run can be opened too.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "pipeline/graph/flow.hpp"
#include "pipeline/run/files.hpp"

namespace seam::host {

/// Returns whether the text has the form of
/// https://www.w3.org/TR/trace-context/#traceparent-header, by which the program that starts a run
/// passes on the run's place in a distributed trace. Texts of later versions may continue after the
/// flags.
///
///     00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
///     └ version  └ trace              caller ┘           └ flags
bool is_traceparent(std::string_view text);

class Trace final : public CallListener {
 public:
  /// Replaces an older trace. `traceparent` is named in the timeline if it is not empty. Throws
  /// seam::Error if the file cannot be written, or is not a trace.
  explicit Trace(const std::filesystem::path& path, const std::string& traceparent = {});

  void called(const StageCall& call) override;
  /// Writes the remaining events. Returns the first error, if any: a run continues without a trace
  /// if the disk is full.
  [[nodiscard]] std::optional<Error> finish();

 private:
  int thread_number(const StageCall& call);
  void add(const std::string& event);
  void flush();

  std::mutex mutex_;
  Descriptor file_;
  std::chrono::steady_clock::time_point began_;
  std::map<std::thread::id, int> threads_;
  std::string waiting_;
  bool empty_ = true;
  std::optional<Error> error_;
};

}  // namespace seam::host
