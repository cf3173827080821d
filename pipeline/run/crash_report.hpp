/// Says of a crash in which stage it was. Without it, a plugin that writes through a bad pointer
/// leaves "Segmentation fault", in a program whose purpose is other people's libraries.
///
///     SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT ──► stage, packet, backtrace ──► stderr, crash.txt
///     exit() in a stage ──────────────────────────► stage, packet ─────────────┘
///
/// The process then ends by the signal, as it would have.
#pragma once

#include <filesystem>
#include <string>

namespace seam::host {

/// While it lives, crashes are reported, also to `crash.txt` in the run's folder. One at a time: a
/// handler of signals has no arguments. Does nothing under a sanitizer, which reports crashes
/// itself.
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
