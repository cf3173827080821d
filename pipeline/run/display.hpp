/// What a person sees of a run while it goes on.
///
///     terminal   epoch 3/60  train  [=====>      ]  12,400/25,882 packets  212/s  loss 0.1234
///                flow ends in 12 s  run ends in 50 s
///                one line, updated in place and no wider than the terminal; messages above it
///     plain      the same as a line of its own every ten seconds and where a flow ends
///     quiet      warnings, errors and the score alone; with `progress`, also the line on a
///     terminal json       instead of results, an object per line: every ten seconds and when a
///     flow ends
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
#include <utility>
#include <vector>

#include "pipeline/graph/flow.hpp"
#include "pipeline/run/metrics.hpp"
#include "pipeline/text/terminal.hpp"
#include "seam/context.hpp"

namespace seam::host {

/// A flow that runs, as the progress line needs it.
struct FlowView {
  std::string flow;
  std::int64_t epoch = 0;                  ///< from 0
  std::int64_t epochs = 0;                 ///< of the schedule; 0: the flow is no part of an epoch
  std::optional<std::uint64_t> expected;   ///< packets of its sources, from its last time
  std::optional<double> run_seconds_left;  ///< of the whole run when the flow began
  std::string run_directory;
  const FlowProgress* progress = nullptr;
  const Metrics* metrics = nullptr;
};

/// "epoch 3/60  train  12,400/25,882 packets  212/s  loss 0.1234  63 queued for model  flow ends in
/// 50 s  run ends in 4 min 10 s": packets of the sources that are through, a batch counted as those
/// that it stands for.
std::string progress_line(const FlowView& view, double seconds);
/// The same with a bar, for a terminal: what matters least goes first where it is too narrow.
std::string progress_line(const FlowView& view, double seconds, const Screen& screen);

/// The same for programs: {"epoch","epochs","flow","packets","expected","seconds","metric","value",
/// "run_seconds_left"}, on one line; null: not known. Epochs count from 1, as on the screen.
std::string progress_json(const FlowView& view, double seconds);

/// Where a display writes to.
struct Screens {
  Screen results;
  Screen messages;
};

class Display {
 public:
  enum class Style : std::uint8_t { terminal, plain, progress, quiet, json };

  Display(std::ostream& results, std::ostream& messages, Style style, Screens screens = {});
  ~Display();
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;
  Display(Display&&) = delete;
  Display& operator=(Display&&) = delete;

  /// Something that must be seen.
  void message(std::string_view text);
  /// Something good to know.
  void note(std::string_view text);
  /// Information that was given before in the same words, by whichever stage, is not shown again.
  void log(LogLevel level, std::string_view stage, std::string_view text);
  /// A stage's report, which is Markdown.
  void report(std::string_view stage, std::string_view title, std::string_view text);
  /// A text for the standard output.
  void result(std::string_view text);
  /// The run's score: shown in every style. Empty: none.
  void score(std::string_view text);
  [[nodiscard]] const Screens& screens() const { return screens_; }
  /// How long a note may be to stand on one line.
  [[nodiscard]] std::size_t note_width() const;

  void flow_begins(FlowView view);
  /// Its view is not looked at any more.
  void flow_ends();
  /// The flow that runs now and what its stages are doing; nothing where none does.
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

  std::ostream& results_;  // the caller's, outlive the display
  std::ostream& messages_;
  Style style_;
  Screens screens_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<FlowView> view_;
  std::chrono::steady_clock::time_point flow_began_;
  bool line_shown_ = false;
  std::set<std::string> informed_;  // what stages said for information
  std::jthread ticker_;             // last: stops before what it uses goes
};

}  // namespace seam::host
