#include "pipeline/run/display.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "pipeline/run/clock.hpp"
#include "pipeline/text/count.hpp"

namespace seam::host {
namespace {

constexpr auto terminal_interval = std::chrono::milliseconds(200);
constexpr auto plain_interval = std::chrono::seconds(10);
constexpr std::string_view clear_line = "\r\x1b[K";  // ECMA-48: erase to the end of the line

std::string_view level_text(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "";
}

/// A line that fits on the terminal: one that goes over its edge could not be replaced.
std::string fitting(const std::string& line) {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? line.substr(0, size.ws_col - 1U) : line;
}

}  // namespace

std::string progress_line(const FlowView& view, double seconds) {
  std::string line;
  if (view.epochs > 0) line += fmt::format("epoch {}/{}  ", view.epoch + 1, view.epochs);
  const std::uint64_t finished = view.progress->finished;
  line += view.flow + "  ";
  if (view.expected) {
    line += count_text(finished) + "/" + packets_text(std::max(*view.expected, finished));
  } else {
    line += packets_text(finished);
  }
  if (seconds > 0) line += "  " + rate_text(static_cast<double>(finished) / seconds);
  if (const auto latest = view.metrics->latest()) {
    line += fmt::format("  {} {:.4g}", latest->first, latest->second);
  }
  const std::vector<StageActivity> activity = view.progress->activity();
  const auto fullest = std::ranges::max_element(activity, {}, &StageActivity::waiting);
  if (fullest != activity.end() && fullest->waiting > 1) {
    line += fmt::format("  {} wait for {}", count_text(fullest->waiting), fullest->stage);
  }
  if (view.run_seconds_left) {
    const double left = std::max(*view.run_seconds_left - seconds, 0.0);
    line += fmt::format("  run ends in {}", duration_text(left));
  }
  return line;
}

Display::Display(std::ostream& results, std::ostream& messages, Style style)
    : results_(results), messages_(messages), style_(style) {
  if (style_ != Style::quiet) {
    ticker_ = std::jthread([this](const std::stop_token& stop) { tick_until_stopped(stop); });
  }
}

Display::~Display() = default;

void Display::tick_until_stopped(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto began = flow_began_;
    const auto interval = style_ == Style::terminal ? std::chrono::nanoseconds(terminal_interval)
                                                    : std::chrono::nanoseconds(plain_interval);
    // Nothing is notified: the predicate only lets a flow that began meanwhile wait its own turn.
    wake_.wait_for(lock, stop, interval, [] { return false; });
    if (view_ && !stop.stop_requested() && (style_ == Style::terminal || began == flow_began_)) {
      show_progress();
    }
  }
}

void Display::show_progress() {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - flow_began_;
  const std::string line = progress_line(*view_, seconds.count());
  if (style_ == Style::terminal) {
    messages_ << clear_line << fitting(line) << std::flush;
    line_shown_ = true;
  } else {
    messages_ << line << std::endl;
  }
}

/// Writes whole lines above the progress line.
void Display::put(std::ostream& stream, std::string_view text) {
  if (line_shown_) messages_ << clear_line << std::flush;
  line_shown_ = false;
  stream << text;
  if (!text.ends_with('\n')) stream << '\n';
  stream.flush();
}

void Display::message(std::string_view text) {
  const std::lock_guard lock(mutex_);
  put(messages_, fmt::format("seam: {}", text));
}

void Display::note(std::string_view text) {
  if (style_ != Style::quiet) message(text);
}

void Display::log(LogLevel level, std::string_view stage, std::string_view text) {
  if (level == LogLevel::debug || (level == LogLevel::info && style_ == Style::quiet)) return;
  const std::lock_guard lock(mutex_);
  put(messages_, fmt::format("{}: {}: {}", level_text(level), stage, text));
}

void Display::report(std::string_view stage, std::string_view title, std::string_view text) {
  if (style_ == Style::quiet) return;
  const std::lock_guard lock(mutex_);
  put(results_, fmt::format("\n## {} ({})\n\n{}", title, stage, text));
}

void Display::result(std::string_view text) {
  if (style_ == Style::quiet) return;
  const std::lock_guard lock(mutex_);
  put(results_, text);
}

void Display::flow_begins(FlowView view) {
  const std::lock_guard lock(mutex_);
  view_ = std::move(view);
  flow_began_ = std::chrono::steady_clock::now();
}

Display::Now Display::now() {
  const std::lock_guard lock(mutex_);
  return view_ ? Now{view_->run_directory, view_->progress->activity()} : Now();
}

void Display::flow_ends() {
  const std::lock_guard lock(mutex_);
  view_.reset();
  if (line_shown_) messages_ << clear_line << std::flush;
  line_shown_ = false;
}

}  // namespace seam::host
