// The rare formats, through OpenCV, with the checks that it omits: size before decoding, and
// completeness of the data.
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include <seam/opencv.hpp>

#include "stages/image/formats/format.hpp"

namespace seam::stages::formats {
namespace {

/// `width` and `height` are the sizes in the header.
Decoded decode_through_opencv(const Encoded& encoded, std::uint64_t width, std::uint64_t height) {
  // OpenCV would report a bad file on the terminal, in addition to the error. Set once per process.
  static const auto level = cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  static_cast<void>(level);
  const cv::Mat raw(1, static_cast<int>(encoded.bytes.size()), CV_8UC1,
                    const_cast<std::uint8_t*>(encoded.bytes.data()));  // imdecode only reads
  cv::Mat picture;
  try {
    picture = cv::imdecode(raw, cv::IMREAD_COLOR);
  } catch (const cv::Exception& error) {
    refuse_damaged(encoded, error.err);
  }
  if (picture.empty()) refuse_damaged(encoded, "its pixels cannot be read");
  if (static_cast<std::uint64_t>(picture.cols) != width ||
      static_cast<std::uint64_t>(picture.rows) != height) {
    refuse_damaged(encoded, "it has fewer pixels than its header declares");
  }
  cv::cvtColor(picture, picture, cv::COLOR_BGR2RGB);
  return {.image = image_from_mat(picture)};
}

}  // namespace

Decoded decode_sun_raster(const Encoded& encoded) {
  Reader reader(encoded, 4);
  const std::uint64_t width = reader.u32_big();
  const std::uint64_t height = reader.u32_big();
  const std::uint64_t bits = reader.u32_big();
  const std::uint64_t length = reader.u32_big();
  const std::uint32_t type = reader.u32_big();
  reader.skip(4);
  const std::uint64_t colour_map = reader.u32_big();
  check_size(encoded, width, height);
  constexpr std::uint32_t packed = 2;
  const std::uint64_t plain_length = (width * bits + 15) / 16 * 2 * height;
  if (reader.left() < colour_map + (type == packed ? length : plain_length)) {
    refuse_truncated(encoded);
  }
  return decode_through_opencv(encoded, width, height);
}

Decoded decode_jpeg2000(const Encoded& encoded) {
  // The code stream begins with "start of code stream, size" at any position within its boxes.
  constexpr std::string_view start("\xFF\x4F\xFF\x51", 4);
  constexpr std::string_view end("\xFF\xD9", 2);
  const std::string_view text(reinterpret_cast<const char*>(encoded.bytes.data()),
                              encoded.bytes.size());
  const std::size_t at = text.find(start);
  if (at == std::string_view::npos) refuse_damaged(encoded, "it contains no code stream");
  Reader reader(encoded, at + start.size() + 4);  // after the segment's length and capabilities
  const std::uint64_t right = reader.u32_big();
  const std::uint64_t bottom = reader.u32_big();
  const std::uint64_t left = reader.u32_big();
  const std::uint64_t top = reader.u32_big();
  const std::uint64_t width = right > left ? right - left : 0;
  const std::uint64_t height = bottom > top ? bottom - top : 0;
  check_size(encoded, width, height);
  if (text.rfind(end) == std::string_view::npos || text.rfind(end) < at) {
    refuse_truncated(encoded);
  }
  return decode_through_opencv(encoded, width, height);
}

}  // namespace seam::stages::formats
