#include "pipeline/run/display.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "pipeline/run/clock.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/markdown.hpp"

namespace seam::host {
namespace {

constexpr auto terminal_interval = std::chrono::milliseconds(200);
constexpr auto plain_interval = std::chrono::seconds(10);
constexpr std::string_view note_prefix = "seam: ";
constexpr std::string_view clear_line = "\r\x1b[K";  // ECMA-48: erase to the end of the line

Paint paint_of(LogLevel level) {
  if (level == LogLevel::error) return Paint::red;
  return level == LogLevel::warning ? Paint::yellow : Paint::plain;
}

/// A part of a progress line. Those with the lowest rank are omitted first.
struct Part {
  int rank = 0;
  std::string text;
};

constexpr int always = 100;

/// "[=====>      ]".
std::string bar_text(double share, const Screen& screen) {
  constexpr std::size_t cells = 20;
  const auto done = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * cells);
  std::string filled(done, '=');
  if (done > 0 && done < cells) filled.back() = '>';
  return "[" + painted(screen, Paint::cyan, filled) + std::string(cells - done, ' ') + "]";
}

std::uint64_t expected_packets(const FlowView& view) {
  const std::uint64_t finished = view.progress->finished;
  return std::max(view.expected.value_or(finished), finished);
}

/// Of the flow, at its rate so far; 0 if unknown.
double flow_seconds_left(const FlowView& view, double seconds) {
  const std::uint64_t finished = view.progress->finished;
  if (!view.expected || finished == 0) return 0;
  const auto left = static_cast<double>(expected_packets(view) - finished);
  return left * seconds / static_cast<double>(finished);
}

std::optional<double> run_seconds_left(const FlowView& view, double seconds) {
  if (!view.run_seconds_left) return std::nullopt;
  return std::max(*view.run_seconds_left - seconds, flow_seconds_left(view, seconds));
}

std::vector<Part> parts_of(const FlowView& view, double seconds) {
  std::vector<Part> parts;
  if (view.epochs > 0) {
    parts.push_back({always, fmt::format("epoch {}/{}", view.epoch + 1, view.epochs)});
  }
  parts.push_back({always, view.flow});
  const std::uint64_t finished = view.progress->finished;
  parts.push_back({5, view.expected
                          ? count_text(finished) + "/" + packets_text(expected_packets(view))
                          : packets_text(finished)});
  const double rate = seconds > 0 ? static_cast<double>(finished) / seconds : 0;
  if (seconds > 0) parts.push_back({2, rate_text(rate)});
  if (const auto latest = view.metrics->latest()) {
    parts.push_back({4, fmt::format("{} {:.4g}", latest->first, latest->second)});
  }
  const std::vector<StageActivity> activity = view.progress->activity();
  const auto fullest = std::ranges::max_element(activity, {}, &StageActivity::waiting);
  if (fullest != activity.end() && fullest->waiting > 1) {
    parts.push_back(
        {0, fmt::format("{} queued for {}", count_text(fullest->waiting), fullest->stage)});
  }
  if (view.expected && rate > 0) {
    const double left = flow_seconds_left(view, seconds);
    parts.push_back({3, fmt::format("flow ends in {}", duration_text(left))});
  }
  if (const auto left = run_seconds_left(view, seconds)) {
    parts.push_back({6, fmt::format("run ends in {}", duration_text(*left))});
  }
  return parts;
}

std::string joined(const std::vector<Part>& parts) {
  std::string line;
  for (const Part& part : parts) {
    line += line.empty() ? "" : "  ";
    line += part.text;
  }
  return line;
}

}  // namespace

std::string_view level_text(LogLevel level) {
  constexpr std::array<std::string_view, 4> names{"debug", "info", "warning", "error"};
  return names.at(static_cast<std::size_t>(level));
}

std::string progress_line(const FlowView& view, double seconds) {
  return joined(parts_of(view, seconds));
}

std::string progress_line(const FlowView& view, double seconds, const Screen& screen) {
  std::vector<Part> parts = parts_of(view, seconds);
  if (view.expected && *view.expected > 0) {
    const double share =
        static_cast<double>(view.progress->finished.load()) / static_cast<double>(*view.expected);
    const auto after_flow =
        std::ranges::find(parts, view.flow, &Part::text) + 1;  // before its packets
    parts.insert(after_flow, {1, bar_text(share, screen)});
  }
  // A line that reaches the terminal's edge could not be replaced.
  const std::size_t room = screen.width - 1;
  while (columns_of(joined(parts)) > room) {
    const auto least = std::ranges::min_element(parts, {}, &Part::rank);
    if (least->rank == always) return cut(joined(parts), room);
    parts.erase(least);
  }
  return joined(parts);
}

std::string progress_json(const FlowView& view, double seconds) {
  const auto latest = view.metrics->latest();
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  return json_line({{"epoch", view.epochs > 0 ? Json(view.epoch + 1) : Json()},
                    {"epochs", view.epochs > 0 ? Json(view.epochs) : Json()},
                    {"flow", view.flow},
                    {"packets", view.progress->finished.load()},
                    {"expected", or_null(view.expected)},
                    {"seconds", seconds},
                    {"metric", latest ? Json(latest->first) : Json()},
                    {"value", latest ? Json(latest->second) : Json()},
                    {"run_seconds_left", or_null(run_seconds_left(view, seconds))}}) +
         "\n";
}

Display::Display(std::ostream& results, std::ostream& messages, Style style, Screens screens)
    : results_(results), messages_(messages), style_(style), screens_(screens) {
  if (style_ != Style::quiet) {
    ticker_ = std::jthread([this](const std::stop_token& stop) { tick_until_stopped(stop); });
  }
}

void Display::tick_until_stopped(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto began = flow_began_;
    const auto interval = has_line() ? std::chrono::nanoseconds(terminal_interval)
                                     : std::chrono::nanoseconds(plain_interval);
    // There are no notifications: the wait ends after the interval, or on a stop request.
    wake_.wait_for(lock, stop, interval, [] { return false; });
    if (view_ && !stop.stop_requested() && (has_line() || began == flow_began_)) show_progress();
  }
}

void Display::show_progress() {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - flow_began_;
  if (style_ == Style::json) {
    results_ << progress_json(*view_, seconds.count()) << std::flush;
  } else if (has_line()) {
    Screen screen = screens_.messages;
    screen.width = terminal_width(STDERR_FILENO).value_or(screen.width);  // it may be resized
    messages_ << clear_line << progress_line(*view_, seconds.count(), screen) << std::flush;
    line_shown_ = true;
  } else {
    messages_ << progress_line(*view_, seconds.count()) << std::endl;
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
  put(messages_, fmt::format("{}{}", note_prefix, text));
}

void Display::note(std::string_view text) {
  if (!is_quiet()) message(text);
}

void Display::log(LogLevel level, std::string_view stage, std::string_view text) {
  if (level == LogLevel::debug || (level == LogLevel::info && is_quiet())) return;
  const std::lock_guard lock(mutex_);
  constexpr std::size_t most_remembered = 1000;
  if (informed_.size() == most_remembered) informed_.clear();
  if (level == LogLevel::info && !informed_.emplace(text).second) return;
  put(messages_,
      fmt::format("{}: {}: {}", painted(screens_.messages, paint_of(level), level_text(level)),
                  stage, text));
}

void Display::report(std::string_view stage, std::string_view title, std::string_view text) {
  if (is_quiet()) return;
  const std::lock_guard lock(mutex_);
  const Screen& screen = screens_.results;
  put(results_,
      fmt::format("\n{}\n{}", painted(screen, Paint::bold, fmt::format("{} ({})", title, stage)),
                  markdown_as_text(text, screen.width)));
}

void Display::result(std::string_view text) {
  if (is_quiet() || text.empty()) return;
  const std::lock_guard lock(mutex_);
  put(results_, text);
}

void Display::score(std::string_view text) {
  if (text.empty() || style_ == Style::json) return;
  const std::lock_guard lock(mutex_);
  put(results_, text);
}

std::size_t Display::note_width() const {
  std::size_t width = screens_.messages.width;
  if (has_line()) width = terminal_width(STDERR_FILENO).value_or(width);
  return width > note_prefix.size() ? width - note_prefix.size() : 0;
}

void Display::flow_begins(FlowView view) {
  const std::lock_guard lock(mutex_);
  view_ = std::move(view);
  flow_began_ = std::chrono::steady_clock::now();
}

Display::Now Display::now() {
  const std::lock_guard lock(mutex_);
  if (!view_) return {};
  return {view_->run_directory, view_->progress->activity(), view_->run_seconds_left};
}

void Display::flow_ends() {
  const std::lock_guard lock(mutex_);
  if (view_ && style_ == Style::json) show_progress();  // the final state of the flow
  view_.reset();
  if (line_shown_) messages_ << clear_line << std::flush;
  line_shown_ = false;
}

}  // namespace seam::host
