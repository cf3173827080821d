/// Reports in which stage a crash happened. Without it, a plugin that writes through a bad pointer
/// causes only "Segmentation fault", in a program whose purpose is running other people's
/// libraries.
///
///     SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT ──► stage, packet, backtrace ──► stderr, run.log
///     exit() in a stage ─────────────────────────┘           └──► summary.json: "crashed"
///
/// The process then ends by the signal, as without a handler, or with 5 after an exit().
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/run/run_directory.hpp"

namespace seam::host {

/// During its lifetime, crashes are reported to standard error and to the run's log, and to its
/// summary if none exists yet. Only one object at a time, because signal handlers have no
/// arguments. Does nothing under a sanitizer, which reports crashes itself.
class CrashReport {
 public:
  explicit CrashReport(const RunDirectory& directory);
  ~CrashReport();
  CrashReport& operator=(CrashReport&&) = delete;  // not copyable
};

/// The outcome in summary.json of a run that ended in a crash.
inline constexpr std::string_view crashed_outcome = "crashed";

/// Returns how the run crashed, as in its summary.json: "segmentation fault in stage 'sharpen'
/// (...)"; empty if it did not crash.
[[nodiscard]] std::string last_crash(const std::filesystem::path& run_directory);

/// An address in a backtrace.
struct CrashFrame {
  std::string library;  ///< path of its file
  std::string offset;   ///< offset in the file, in the form for addr2line: "0x6f2f"
  std::string symbol;   ///< nearest symbol that the library exports; may be empty
};

struct Crash {
  std::string what;  ///< "segmentation fault at address 0x0 in stage 'sharpen' (...), ..."
  std::vector<CrashFrame> frames;  ///< innermost first
};

/// Returns the last crash that the text of a run.log reports, or nullopt.
[[nodiscard]] std::optional<Crash> find_crash(const std::string& text);

}  // namespace seam::host
