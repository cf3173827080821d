/// TensorBoard events as the bytes of a record.
///
///     Scalar, Histogram, picture ──► summary ──► record ──► events.out.tfevents.*
///     START (of a run that resumed) and CHECKPOINT ──► session log
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/tensorboard/histogram.hpp"
#include "pipeline/tensorboard/picture_header.hpp"

namespace seam::host::tensorboard {

/// When something was written, and its position on TensorBoard's axis.
struct Moment {
  double wall_time = 0;  ///< seconds since 1970
  std::int64_t step = 0;
};

/// Stored as float32, as TensorBoard shows it; NaN and infinities as such.
struct Scalar {
  std::string tag;  ///< UTF-8, like all strings here
  double value = 0;

  friend bool operator==(const Scalar&, const Scalar&) = default;
};

/// The first event of a file.
[[nodiscard]] std::string version_event(double wall_time);
/// The run resumed: events of earlier files from this step on are obsolete.
[[nodiscard]] std::string start_event(const Moment& moment);
/// Everything before belongs to the checkpoint with this name.
[[nodiscard]] std::string checkpoint_event(const Moment& moment, const std::string& checkpoint);
[[nodiscard]] std::string scalars_event(const Moment& moment, const std::vector<Scalar>& scalars);
[[nodiscard]] std::string histogram_event(const Moment& moment, const std::string& tag,
                                          const Histogram& histogram);
/// `file`: a JPEG or PNG file.
[[nodiscard]] std::string picture_event(const Moment& moment, const std::string& tag,
                                        const PictureHeader& header,
                                        std::span<const std::byte> file);

enum class EventKind : std::uint8_t { other, start, checkpoint, summary };

/// The properties of an event that a resumed run needs.
struct EventHead {
  EventKind kind = EventKind::other;
  std::int64_t step = 0;
  std::string checkpoint;  ///< its name, if the event is a checkpoint
};

/// Returns nullopt if the bytes are not an event.
[[nodiscard]] std::optional<EventHead> read_event(std::string_view bytes);

}  // namespace seam::host::tensorboard
