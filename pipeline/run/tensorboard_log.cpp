#include "pipeline/run/tensorboard_log.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "pipeline/config/source.hpp"
#include "pipeline/run/drawn_pictures.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/text/nearest.hpp"
#include "seam/name_pattern.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

std::int64_t step_at(const Checkpoint& checkpoint, StepAxis axis) {
  return axis == StepAxis::epochs ? checkpoint.position.epochs_done : checkpoint.training_steps;
}

EventFile::Resume resume_from(const Checkpoint* checkpoint, StepAxis axis) {
  if (checkpoint == nullptr) return {};
  return {step_at(*checkpoint, axis), to_text(name_of(*checkpoint))};
}

/// The mean of values [from, to).
double mean_between(const std::vector<double>& values, std::size_t from, std::size_t to) {
  if (to - from == 1) return values[from];
  return mean({values.begin() + static_cast<std::ptrdiff_t>(from),
               values.begin() + static_cast<std::ptrdiff_t>(to)});
}

double unix_seconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

std::vector<ScalarsAtStep> scalars_of(const std::vector<RecordedSeries>& series,
                                      const std::string& flow, std::int64_t before,
                                      std::int64_t steps) {
  std::map<std::int64_t, std::vector<tensorboard::Scalar>> by_step;
  for (const RecordedSeries& one : series) {
    const std::string tag = as_utf8(flow.empty() ? one.metric() : flow + "/" + one.metric());
    const std::size_t count = one.values.size();
    if (count == 0) continue;
    const std::size_t points = one.ordered && steps > 0
                                   ? std::min(count, static_cast<std::size_t>(steps))
                                   : std::size_t{1};
    for (std::size_t point = 0; point < points; ++point) {
      const auto done = static_cast<std::int64_t>(point + 1);
      const std::int64_t step = before + done * steps / static_cast<std::int64_t>(points);
      by_step[step].push_back(
          {tag, mean_between(one.values, point * count / points, (point + 1) * count / points)});
    }
  }
  std::vector<ScalarsAtStep> scalars;
  for (auto& [step, values] : by_step) scalars.push_back({step, std::move(values)});
  return scalars;
}

TensorBoardLog::TensorBoardLog(fs::path run, TensorBoardSpec spec, StepAxis axis,
                               const Checkpoint* from, RunServices& services)
    : run_(std::move(run)),
      spec_(std::move(spec)),
      axis_(axis),
      services_(services),
      file_(run_, resume_from(from, axis)),
      drawn_epochs_(from != nullptr ? from->position.epochs_done : 0) {}

void TensorBoardLog::opened(const std::vector<RecordedSeries>& series) {
  for (const ScalarsAtStep& at : scalars_of(series, "", 0, 0)) {
    file_.append({tensorboard::scalars_event({wall_time_now(), at.step}, at.scalars)});
  }
}

void TensorBoardLog::flow_ended(const FlowRecord& record, const std::vector<RecordedSeries>& series,
                                const FlowResult& result) {
  const bool complete = !result.error && !result.cancelled;
  const bool by_steps = axis_ == StepAxis::training_steps;
  const std::int64_t steps = by_steps ? record.training_steps : 0;
  if (!complete && steps == 0) return;
  const std::int64_t epochs = record.when == "before" ? 0 : record.epoch + 1;
  const std::int64_t before = by_steps ? record.steps_before : epochs;
  const double began = unix_seconds(record.began);
  std::vector<std::string> events;
  for (const ScalarsAtStep& at : scalars_of(series, record.flow, before, steps)) {
    // The time of each value is not known, so they are spread over the flow's duration.
    const double share =
        steps == 0 ? 1 : static_cast<double>(at.step - before) / static_cast<double>(steps);
    events.push_back(
        tensorboard::scalars_event({began + share * result.seconds, at.step}, at.scalars));
  }
  file_.append(events);
  if (complete) add_pictures(record, {began + result.seconds, before + steps});
}

void TensorBoardLog::add_pictures(const FlowRecord& record, const tensorboard::Moment& moment) {
  const DrawnPictures drawn = drawn_pictures(run_, record.flow, record.epoch);
  std::vector<std::string> problems = drawn.problems;
  for (const DrawnPicture& picture : drawn.pictures) {
    std::vector<std::byte> bytes;
    try {
      bytes = read_file(picture.file);
    } catch (const Error& error) {
      problems.emplace_back(error.what());
      continue;
    }
    const auto header = tensorboard::picture_header(bytes);
    if (!header) {
      problems.push_back("'" + picture.file.string() + "' is neither a JPEG nor a PNG file");
      continue;
    }
    file_.append({tensorboard::picture_event(moment, as_utf8(picture.title), *header, bytes)});
  }
  if (problems.empty()) return;
  services_.warn(fmt::format("{} omitted from TensorBoard for flow '{}'; the first: {}",
                             problems.size() == 1
                                 ? "an image or set of images is"
                                 : fmt::format("{} images or sets of images are", problems.size()),
                             record.flow, problems.front()));
}

void TensorBoardLog::checkpoint(const Checkpoint& checkpoint) {
  const tensorboard::Moment moment{wall_time_now(), step_at(checkpoint, axis_)};
  const SchedulePosition& position = checkpoint.position;
  const bool after_epoch = !checkpoint.flow && position.flows_done == 0;
  if (after_epoch && position.epochs_done > drawn_epochs_) {
    add_histograms(checkpoint, moment);
    drawn_epochs_ = position.epochs_done;
  }
  file_.append({tensorboard::checkpoint_event(moment, to_text(name_of(checkpoint)))});
  file_.sync();
}

void TensorBoardLog::add_histograms(const Checkpoint& checkpoint,
                                    const tensorboard::Moment& moment) {
  if (spec_.histograms.empty()) return;
  if (!std::exchange(told_, true)) tell_of_patterns(checkpoint);
  for (const StageState& stage : checkpoint.stages) {
    for (const auto& [tensor, entry] : stage.archive.entries()) {
      const std::string name = stage.name + "." + tensor;
      const bool wanted = std::ranges::any_of(
          spec_.histograms, [&](const std::string& pattern) { return matches(pattern, name); });
      if (!wanted || !tensorboard::has_histogram(entry.type)) continue;
      const tensorboard::Histogram histogram = tensorboard::histogram_of(entry);
      if (histogram.not_finite > 0) {
        services_.warn(
            fmt::format("{} values of '{}' are NaN or infinite after epoch {}; they are omitted "
                        "from its TensorBoard histogram",
                        histogram.not_finite, name, checkpoint.position.epochs_done));
      }
      if (histogram.buckets.empty()) continue;
      file_.append({tensorboard::histogram_event(moment, "weights/" + as_utf8(name), histogram)});
    }
  }
}

void TensorBoardLog::tell_of_patterns(const Checkpoint& checkpoint) {
  std::vector<std::string> without;  // tensors that match a pattern but have no histogram
  std::vector<std::string> names;
  for (const StageState& stage : checkpoint.stages) {
    for (const auto& [tensor, entry] : stage.archive.entries()) {
      names.push_back(stage.name + "." + tensor);
      const bool wanted = std::ranges::any_of(spec_.histograms, [&](const std::string& pattern) {
        return matches(pattern, names.back());
      });
      if (wanted && (!tensorboard::has_histogram(entry.type) || entry.bytes.empty())) {
        without.push_back(names.back() + " (" + entry.type + ")");
      }
    }
  }
  for (const std::string& pattern : spec_.histograms) {
    if (std::ranges::any_of(names, [&](const auto& name) { return matches(pattern, name); })) {
      continue;
    }
    services_.warn(
        fmt::format("the pattern '{}' of 'tensorboard' matches no tensor in the checkpoint{}",
                    pattern, suggestion(pattern, names)));
  }
  if (!without.empty()) {
    services_.log_only(LogLevel::info, "no histograms for empty or non-floating-point tensors: " +
                                           enumerated(without));
  }
}

}  // namespace seam::host
