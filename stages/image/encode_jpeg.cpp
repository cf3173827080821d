#include "stages/image/encode_jpeg.hpp"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>

// After <cstdio>, which it needs but does not include.
#include <jpeglib.h>

#include <seam/error.hpp>

namespace seam::stages {
namespace {

/// libjpeg's state, freed at the end of scope. libjpeg leaves by longjmp, so the functions that
/// call it must not have objects with destructors; this object is outside them.
struct JpegWriter {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf escape{};
  std::array<char, JMSG_LENGTH_MAX> message{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type

  JpegWriter() = default;
  JpegWriter& operator=(JpegWriter&&) = delete;  // not copyable
  ~JpegWriter() {
    jpeg_destroy_compress(&info);
    std::free(bytes);  // NOLINT: allocated by libjpeg with malloc
  }
};

[[noreturn]] void leave_writer(j_common_ptr info) {
  JpegWriter& writer = *static_cast<JpegWriter*>(info->client_data);
  info->err->format_message(info, writer.message.data());
  std::longjmp(writer.escape, 1);
}

bool write_jpeg(JpegWriter& writer, const Image& image) {
  jpeg_compress_struct& info = writer.info;
  if (setjmp(writer.escape) != 0) {  // NOLINT(cert-err52-cpp): libjpeg's way out
    writer.bytes = nullptr;          // libjpeg may have freed them already
    return false;
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &writer.bytes, &writer.size);
  info.image_width = static_cast<JDIMENSION>(image.width());
  info.image_height = static_cast<JDIMENSION>(image.height());
  info.input_components = image.channels();
  info.in_color_space = image.channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 90, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    // libjpeg does not write to the row
    JSAMPROW row = const_cast<JSAMPROW>(image.row(static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

std::vector<std::uint8_t> encode_jpeg(const Image& image) {
  JpegWriter writer;
  writer.info.err = jpeg_std_error(&writer.errors);
  writer.info.client_data = &writer;
  writer.errors.error_exit = leave_writer;
  if (!write_jpeg(writer, image)) {
    throw Error("libjpeg cannot write an image of " + std::to_string(image.width()) + " x " +
                    std::to_string(image.height()) + " pixels: " + writer.message.data(),
                Fault::internal);
  }
  return {writer.bytes, writer.bytes + writer.size};
}

}  // namespace seam::stages
