#include "pipeline/run/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "pipeline/run/clock.hpp"
#include "pipeline/text/count.hpp"

namespace seam::host {
namespace {

/// Describes the call of the stage that has not returned, if any.
std::optional<std::string> inside_text(const StageActivity& stage) {
  if (stage.inside > 0) return "is processing " + packets_text(stage.inside);
  switch (stage.call) {
    case StageActivity::Call::begin:
      return "is preparing for the flow";
    case StageActivity::Call::produce:
      return "is producing a packet";
    case StageActivity::Call::end:
      return stage.kind == StageKind::collector ? "is emitting the packets it collected"
                                                : "is finishing after its last packet";
    case StageActivity::Call::none:
      break;
  }
  return std::nullopt;
}

std::string doing_text(const StageActivity& stage, const LimitSpec& limits) {
  if (auto inside = inside_text(stage)) return *inside;
  if (stage.waits_for_room) {
    return fmt::format("is waiting because [limits] packets = {} or bytes = {} is reached",
                       limits.packets, limits.bytes);
  }
  return stage.waiting > 0 ? "has queued packets but is not processing any"
                           : "is waiting for packets";
}

}  // namespace

std::optional<std::chrono::nanoseconds> StallClock::look(std::uint64_t done, Time now) {
  if (done != done_) {
    done_ = done;
    since_ = now;
    next_ = limit_;
    return std::nullopt;
  }
  const std::chrono::nanoseconds still = now - since_;
  if (still < next_) return std::nullopt;
  next_ = 2 * still;
  return still;
}

std::string stall_text(const std::string& place, double seconds,
                       const std::vector<StageActivity>& activity, const LimitSpec& limits) {
  std::string text = fmt::format("{} has made no progress for {}:", place, duration_text(seconds));
  std::size_t width = 0;
  for (const StageActivity& stage : activity) width = std::max(width, stage.stage.size());
  for (const StageActivity& stage : activity) {
    text += fmt::format("\n  {:<{}}  {}", stage.stage, width, doing_text(stage, limits));
    if (stage.waiting > 0) text += fmt::format("; {} waiting", packets_text(stage.waiting));
  }
  text +=
      "\nIt may just need more time ([limits] stall_seconds sets when this warning appears). "
      "Ctrl-C stops the run; its last checkpoint is kept.";
  return text;
}

std::string overdue_text(const std::vector<StageActivity>& activity,
                         const std::string& run_directory) {
  std::string text = "the run has not ended within a second";
  for (const StageActivity& stage : activity) {
    if (auto inside = inside_text(stage)) text += fmt::format("\n  {}  {}", stage.stage, *inside);
  }
  text += "\nThe process exits now";
  if (!run_directory.empty()) {
    text += "; resume from the last checkpoint with:\n  seam run --resume " + run_directory;
  }
  return text;
}

Watchdog::Watchdog(std::string place, const FlowProgress& progress, const LimitSpec& limits,
                   std::function<void(const std::string&)> say) {
  if (limits.stall_seconds == 0) return;
  thread_ = std::jthread([place = std::move(place), &progress, limits,
                          say = std::move(say)](const std::stop_token& stop) {
    const std::chrono::nanoseconds limit = std::chrono::seconds(limits.stall_seconds);
    StallClock clock(limit, std::chrono::steady_clock::now());
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      // There are no notifications: only a stop request ends the wait early.
      wake.wait_for(lock, stop, limit / 4, [] { return false; });
      if (stop.stop_requested()) return;
      const std::vector<StageActivity> activity = progress.activity();
      if (activity.empty()) continue;  // not begun, or at its end
      std::uint64_t done = 0;
      for (const StageActivity& stage : activity) done += stage.done;
      if (const auto still = clock.look(done, std::chrono::steady_clock::now())) {
        const std::chrono::duration<double> seconds = *still;
        say(stall_text(place, seconds.count(), activity, limits));
      }
    }
  });
}

}  // namespace seam::host
