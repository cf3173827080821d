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

#include "seam/archive.hpp"

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

/// The distribution of a tensor's values, as TensorBoard draws it: buckets of equal width.
/// Covers the finite values; if there are none, `count` is 0 and there are no buckets.
struct Histogram {
  double least = 0;
  double greatest = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;    ///< the buckets' upper ends, rising
  std::vector<double> buckets;   ///< number of values in each
  std::uint64_t not_finite = 0;  ///< values that are in no bucket
};

/// Whether tensors of this type ("f32", "i64", ...) can be drawn: f64, f32, f16 and bf16.
[[nodiscard]] bool has_histogram(std::string_view type);

/// Computes the histogram of an entry of such a type, in this machine's byte order.
[[nodiscard]] Histogram histogram_of(const Archive::Entry& entry);

/// A half-precision number ("f16", IEEE binary16) as a float.
[[nodiscard]] float from_half(std::uint16_t bits);

/// The size of an image, from the header of a JPEG or PNG file.
struct PictureHeader {
  int width = 0;
  int height = 0;
  int channels = 0;  ///< 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA

  friend bool operator==(const PictureHeader&, const PictureHeader&) = default;
};

/// Returns nullopt if the bytes are neither format or end too early.
[[nodiscard]] std::optional<PictureHeader> picture_header(std::span<const std::byte> file);

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
