#include "pipeline/tensorboard/event.hpp"

#include <event.pb.h>

#include <limits>

namespace seam::host::tensorboard {
namespace format = seam::event_format;
namespace {

format::Event event_at(const Moment& moment) {
  format::Event event;
  event.set_wall_time(moment.wall_time);
  event.set_step(moment.step);
  return event;
}

}  // namespace

std::string version_event(double wall_time) {
  format::Event event;
  event.set_wall_time(wall_time);
  event.set_file_version("brain.Event:2");  // from 2 on, readers respect START
  return event.SerializeAsString();
}

std::string start_event(const Moment& moment) {
  format::Event event = event_at(moment);
  event.mutable_session_log()->set_status(format::SessionLog::START);
  return event.SerializeAsString();
}

std::string checkpoint_event(const Moment& moment, const std::string& checkpoint) {
  format::Event event = event_at(moment);
  event.mutable_session_log()->set_status(format::SessionLog::CHECKPOINT);
  event.mutable_session_log()->set_checkpoint_path(checkpoint);
  return event.SerializeAsString();
}

std::string scalars_event(const Moment& moment, const std::vector<Scalar>& scalars) {
  format::Event event = event_at(moment);
  for (const Scalar& scalar : scalars) {
    format::Summary::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(scalar.tag);
    value.set_simple_value(static_cast<float>(scalar.value));
  }
  return event.SerializeAsString();
}

std::string histogram_event(const Moment& moment, const std::string& tag,
                            const Histogram& histogram) {
  format::Event event = event_at(moment);
  format::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  format::HistogramProto& histo = *value.mutable_histo();
  histo.set_min(histogram.least);
  histo.set_max(histogram.greatest);
  histo.set_num(histogram.count);
  histo.set_sum(histogram.sum);
  histo.set_sum_squares(histogram.sum_of_squares);
  histo.mutable_bucket_limit()->Add(histogram.limits.begin(), histogram.limits.end());
  histo.mutable_bucket()->Add(histogram.buckets.begin(), histogram.buckets.end());
  return event.SerializeAsString();
}

std::string picture_event(const Moment& moment, const std::string& tag, const PictureHeader& header,
                          std::span<const std::byte> file) {
  format::Event event = event_at(moment);
  format::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  format::Summary::Image& image = *value.mutable_image();
  image.set_width(header.width);
  image.set_height(header.height);
  image.set_colorspace(header.channels);
  image.set_encoded_image_string(file.data(), file.size());
  return event.SerializeAsString();
}

std::optional<EventHead> read_event(std::string_view bytes) {
  format::Event event;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !event.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return std::nullopt;
  }
  EventHead head;
  head.step = event.step();
  if (event.has_summary()) head.kind = EventKind::summary;
  if (event.has_session_log()) {
    const format::SessionLog& log = event.session_log();
    if (log.status() == format::SessionLog::START) head.kind = EventKind::start;
    if (log.status() == format::SessionLog::CHECKPOINT) {
      head.kind = EventKind::checkpoint;
      head.checkpoint = log.checkpoint_path();
    }
  }
  return head;
}

}  // namespace seam::host::tensorboard
