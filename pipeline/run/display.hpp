/// The user-visible progress of a run.
///
///     terminal   epoch 3/60  train  [=====>      ]  12,400/25,882 packets  212/s  loss 0.1234
///                flow ends in 12 s  run ends in 50 s
///                one line, updated in place and no wider than the terminal; messages above it
///     plain      a new line every ten seconds and at the end of a flow
///     quiet      only warnings, errors and the score
///     progress   as quiet, with the line of `terminal`
///     json       one JSON object per line, every ten seconds and at the end of a flow; only
///                warnings and errors as text
///
/// Results (reports, the closing table, the score) go to `results`, all else to `messages`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pipeline/graph/flow.hpp"
#include "pipeline/run/metrics.hpp"
#include "pipeline/text/terminal.hpp"
#include "seam/context.hpp"

namespace seam::host {

/// "warning"
std::string_view level_text(LogLevel level);

/// A running flow, for the progress line.
struct FlowView {
  std::string flow;
  std::int64_t epoch = 0;                  ///< from 0
  std::int64_t epochs = 0;                 ///< of the schedule; 0: the flow is outside the epochs
  std::optional<std::uint64_t> expected;   ///< packets of its sources, from its previous run
  std::optional<double> run_seconds_left;  ///< of the whole run when the flow began
  std::string run_directory;
  const FlowProgress* progress = nullptr;
  const Metrics* metrics = nullptr;
};

/// "epoch 3/60  train  12,400/25,882 packets  212/s  loss 0.1234  63 queued for model  flow ends in
/// 50 s  run ends in 4 min 10 s". Counts finished packets of the sources; a batch counts as its
/// packets.
std::string progress_line(const FlowView& view, double seconds);
/// The same with a bar, for a terminal; if it is too narrow, the least important parts are omitted.
std::string progress_line(const FlowView& view, double seconds, const Screen& screen);

/// The same for programs: {"epoch","epochs","flow","packets","expected","seconds","metric","value",
/// "run_seconds_left"}, on one line; null if unknown. Epochs count from 1, as on the screen.
std::string progress_json(const FlowView& view, double seconds);

/// The screens that a display writes to.
struct Screens {
  Screen results;
  Screen messages;
};

class Display {
 public:
  enum class Style : std::uint8_t { terminal, plain, progress, quiet, json };

  Display(std::ostream& results, std::ostream& messages, Style style, Screens screens = {});

  /// Shows a text in every style.
  void message(std::string_view text);
  /// Shows a text, except in quiet style.
  void note(std::string_view text);
  /// Shows a stage's log message. Information with the same text as before is not repeated, even if
  /// another stage logs it.
  void log(LogLevel level, std::string_view stage, std::string_view text);
  /// Shows a stage's report, which is Markdown.
  void report(std::string_view stage, std::string_view title, std::string_view text);
  /// Writes a text to standard output.
  void result(std::string_view text);
  /// Shows the run's score in every style. Empty: none.
  void score(std::string_view text);
  [[nodiscard]] const Screens& screens() const { return screens_; }
  /// Maximum length of a note on one line.
  [[nodiscard]] std::size_t note_width() const;

  void flow_begins(FlowView view);
  /// After this call, the view passed to flow_begins() is no longer read.
  void flow_ends();
  /// The running flow and the activity of its stages; empty if no flow runs.
  struct Now {
    std::string run_directory;
    std::vector<StageActivity> activity;
    std::optional<double> run_seconds_left;  ///< as in FlowView
  };
  [[nodiscard]] Now now();

 private:
  void tick_until_stopped(const std::stop_token& stop);
  void show_progress();
  [[nodiscard]] bool is_quiet() const { return style_ >= Style::progress; }
  [[nodiscard]] bool has_line() const {
    return style_ == Style::terminal || style_ == Style::progress;
  }
  void put(std::ostream& stream, std::string_view text);

  std::ostream& results_;  // both are owned by the caller and outlive the display
  std::ostream& messages_;
  Style style_;
  Screens screens_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<FlowView> view_;
  std::chrono::steady_clock::time_point flow_began_;
  bool line_shown_ = false;
  std::set<std::string> informed_;  // information that was shown
  std::jthread ticker_;             // last: stops before the members it uses are destroyed
};

}  // namespace seam::host
