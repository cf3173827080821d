#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <vector>

// After <cstdio>, which it needs but does not include.
#include <jpeglib.h>

// After jpeglib.h for the same reason.
#include <jerror.h>

#include "stages/image/formats/format.hpp"

namespace seam::stages::formats {
namespace {

// Progressive files can contain thousands of scans, each of which costs a pass over the image.
constexpr int most_scans = 500;

/// libjpeg's state, freed at the end of scope. libjpeg leaves by longjmp, so the functions that
/// call it must not have objects with destructors; this object is outside them.
struct Session {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  std::array<char, JMSG_LENGTH_MAX> message{};
  bool unsupported = false;

  Session() = default;
  Session& operator=(Session&&) = delete;  // not copyable
  ~Session() { jpeg_destroy_decompress(&info); }
};

Session& session_of(j_common_ptr info) {
  return *static_cast<Session*>(info->client_data);
}

[[noreturn]] void leave(j_common_ptr info) {
  Session& session = session_of(info);
  info->err->format_message(info, session.message.data());
  switch (info->err->msg_code) {
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
      session.unsupported = true;
      break;
    default:
      break;
  }
  std::longjmp(session.escape, 1);
}

/// A warning of libjpeg means that it continues with invented data. Here it ends decoding, except
/// for warnings that do not affect the pixels.
void judge(j_common_ptr info, int level) {
  if (level >= 0) return;  // a trace message
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
      return;
    default:
      leave(info);
  }
}

void stay_silent(j_common_ptr /*info*/) {}

void count_scans(j_common_ptr info) {
  Session& session = session_of(info);
  if (session.info.input_scan_number > most_scans) {
    constexpr std::string_view text = "it has more than 500 scans";
    std::ranges::copy(text, session.message.begin());
    session.message.at(text.size()) = '\0';
    std::longjmp(session.escape, 1);
  }
}

bool read_header(Session& session, std::span<const std::uint8_t> bytes) {
  if (setjmp(session.escape) != 0) return false;  // NOLINT(cert-err52-cpp): libjpeg's way out
  jpeg_create_decompress(&session.info);
  session.info.client_data = &session;
  session.info.progress = &session.progress;
  jpeg_mem_src(&session.info, bytes.data(), bytes.size());
  jpeg_save_markers(&session.info, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&session.info, TRUE);
  const bool inks =
      session.info.jpeg_color_space == JCS_CMYK || session.info.jpeg_color_space == JCS_YCCK;
  session.info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  return true;
}

/// `out` has space for output_height rows of `row_bytes`.
bool read_pixels(Session& session, std::uint8_t* out, std::size_t row_bytes) {
  if (setjmp(session.escape) != 0) return false;  // NOLINT(cert-err52-cpp): libjpeg's way out
  jpeg_start_decompress(&session.info);
  while (session.info.output_scanline < session.info.output_height) {
    std::array<JSAMPROW, 16> rows;
    const JDIMENSION first = session.info.output_scanline;
    const JDIMENSION count =
        std::min(static_cast<JDIMENSION>(rows.size()), session.info.output_height - first);
    for (JDIMENSION i = 0; i < count; ++i) rows[i] = out + (first + i) * row_bytes;
    jpeg_read_scanlines(&session.info, rows.data(), count);
  }
  jpeg_finish_decompress(&session.info);  // reads up to the end marker, to detect a missing one
  return true;
}

int orientation_of(const Session& session) {
  for (jpeg_saved_marker_ptr marker = session.info.marker_list; marker != nullptr;
       marker = marker->next) {
    const std::span<const std::uint8_t> block(marker->data, marker->data_length);
    constexpr std::string_view exif("Exif\0\0", 6);
    if (block.size() > exif.size() && std::equal(exif.begin(), exif.end(), block.begin())) {
      return exif_orientation(block);
    }
  }
  return 1;
}

/// Inverted CMYK, as in nearly all files: 255 means no ink.
void inks_to_rgb(const std::uint8_t* inks, std::uint8_t* rgb, std::size_t pixels) {
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint32_t key = inks[4 * i + 3];
    for (std::size_t c = 0; c < 3; ++c) rgb[3 * i + c] = to_byte(inks[4 * i + c] * key, 255 * 255);
  }
}

}  // namespace

Decoded decode_jpeg(const Encoded& encoded) {
  Session session;
  session.info.err = jpeg_std_error(&session.errors);
  session.info.client_data = &session;
  session.errors.error_exit = leave;
  session.errors.emit_message = judge;
  session.errors.output_message = stay_silent;
  session.progress.progress_monitor = count_scans;
  const auto refuse = [&] {
    const std::string why = session.message.data();
    if (session.unsupported) refuse_unsupported(encoded, why);
    refuse_damaged(encoded, why);
  };

  if (!read_header(session, encoded.bytes)) refuse();
  const std::size_t width = session.info.image_width;
  const std::size_t height = session.info.image_height;
  check_size(encoded, width, height);
  Decoded decoded{.image = Image(static_cast<int>(height), static_cast<int>(width), 3),
                  .orientation = orientation_of(session)};
  if (session.info.out_color_space == JCS_CMYK) {
    std::vector<std::uint8_t> inks(width * height * 4);
    if (!read_pixels(session, inks.data(), width * 4)) refuse();
    inks_to_rgb(inks.data(), decoded.image.data(), width * height);
  } else if (!read_pixels(session, decoded.image.data(), width * 3)) {
    refuse();
  }
  return decoded;
}

}  // namespace seam::stages::formats
