/// Reports in which stage a crash happened. Without it, a plugin that writes through a bad pointer
/// causes only "Segmentation fault", in a program whose purpose is running other people's
/// libraries.
///
///     SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT ──► stage, packet, backtrace ──► stderr, crash.txt
///     exit() in a stage ──────────────────────────► stage, packet ─────────────┘
///
/// The process then ends by the signal, as without a handler.
#pragma once

#include <filesystem>
#include <string>

namespace seam::host {

/// During its lifetime, crashes are reported to standard error and to `crash.txt` in the run
/// folder. Only one object at a time, because signal handlers have no arguments. Does nothing under
/// a sanitizer, which reports crashes itself.
class CrashReport {
 public:
  explicit CrashReport(const std::filesystem::path& run_directory);
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;
  CrashReport(CrashReport&&) = delete;
  CrashReport& operator=(CrashReport&&) = delete;
};

/// The first line of the folder's newest report: "segmentation fault in stage 'sharpen' (...)";
/// empty if there is none.
[[nodiscard]] std::string last_crash(const std::filesystem::path& run_directory);

}  // namespace seam::host
