/// Writes when each stage worked on which packet, for Perfetto (ui.perfetto.dev) and
/// chrome://tracing.
///
///     worker 1    decode 12 │ decode 15 │ augment 12 │
///     worker 2    decode 13 │ decode 14 │
///     compute            model 0                │ loss 0 │ adam 0 │
///
/// The format is the "JSON Array Format" of Chrome's Trace Event Format: it is added to while the
/// run goes on, and a file that a killed run leaves can be opened too.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "pipeline/graph/flow.hpp"
#include "pipeline/run/files.hpp"

namespace seam::host {

class Trace final : public CallListener {
 public:
  /// Replaces the file. Throws seam::Error where it cannot be written.
  explicit Trace(const std::filesystem::path& path);

  void called(const StageCall& call) override;
  /// Writes what is left. Returns what went wrong since the beginning: the run goes on without a
  /// trace where its disk is full.
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
