/// Says of a crash in which stage it was. Without it, a plugin that writes through a bad pointer
/// leaves "Segmentation fault", in a program whose purpose is other people's libraries.
///
///     SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT ──► stage, packet, backtrace ──► stderr, run.log
///     exit() in a stage ─────────────────────────┘           └──► summary.json: "crashed"
///
/// The process then ends by the signal, as it would have, or with 5 after an exit().
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/run/run_directory.hpp"

namespace seam::host {

/// While it lives, crashes are reported, also to the run's log, and to its summary if there is none
/// yet. One at a time: a handler of signals has no arguments. Does nothing under a sanitizer, which
/// reports crashes itself.
class CrashReport {
 public:
  explicit CrashReport(const RunDirectory& directory);
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;
  CrashReport(CrashReport&&) = delete;
  CrashReport& operator=(CrashReport&&) = delete;
};

/// What summary.json calls a run that ended in a crash.
inline constexpr std::string_view crashed_outcome = "crashed";

/// How the run crashed, by its summary.json: "segmentation fault in stage 'sharpen' (...)"; empty
/// if it did not.
[[nodiscard]] std::string last_crash(const std::filesystem::path& run_directory);

/// An address of a backtrace.
struct CrashFrame {
  std::string library;  ///< its file
  std::string offset;   ///< in the file, as addr2line takes it: "0x6f2f"
  std::string symbol;   ///< the nearest that the library exports; may be empty
};

struct Crash {
  std::string what;  ///< "segmentation fault at address 0x0 in stage 'sharpen' (...), ..."
  std::vector<CrashFrame> frames;  ///< innermost first
};

/// The last crash that is reported in the text of a run.log; nothing if there is none.
[[nodiscard]] std::optional<Crash> find_crash(const std::string& text);

}  // namespace seam::host
