#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

#include "stages/image/formats/format.hpp"

namespace seam::stages::formats {
namespace {

/// The file in memory, and the first error message about it.
struct TiffSession {
  const Encoded* encoded = nullptr;
  std::size_t position = 0;
  std::string complaint;
  bool reading_pixels = false;
};

TiffSession& tiff_session(thandle_t handle) {
  return *static_cast<TiffSession*>(handle);
}

tmsize_t read_tiff_bytes(thandle_t handle, void* out, tmsize_t count) {
  TiffSession& session = tiff_session(handle);
  const auto bytes = session.encoded->bytes;
  const std::size_t there = session.position < bytes.size() ? bytes.size() - session.position : 0;
  const std::size_t taken = std::min(there, static_cast<std::size_t>(std::max<tmsize_t>(count, 0)));
  std::memcpy(out, bytes.data() + session.position, taken);
  session.position += taken;
  return static_cast<tmsize_t>(taken);
}

tmsize_t refuse_to_write(thandle_t /*handle*/, void* /*data*/, tmsize_t /*count*/) {
  return 0;
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  TiffSession& session = tiff_session(handle);
  switch (whence) {
    case SEEK_CUR:
      session.position += offset;
      break;
    case SEEK_END:
      session.position = session.encoded->bytes.size() + offset;
      break;
    default:
      session.position = offset;
      break;
  }
  return session.position;
}

int close(thandle_t /*handle*/) {
  return 0;
}

toff_t size(thandle_t handle) {
  return tiff_session(handle).encoded->bytes.size();
}

void note(TiffSession& session, const char* format, va_list arguments) {
  if (!session.complaint.empty()) return;  // the first one is the cause of the others
  std::array<char, 256> text{};
  static_cast<void>(std::vsnprintf(text.data(), text.size(), format, arguments));
  session.complaint = text.data();
}

int on_error(TIFF* /*tiff*/, void* user, const char* /*module*/, const char* format,
             va_list arguments) {
  note(*static_cast<TiffSession*>(user), format, arguments);
  return 1;
}

/// A warning while pixels are read means that libtiff continues with invented pixels. Earlier
/// warnings are about tags that Seam does not read.
int on_warning(TIFF* /*tiff*/, void* user, const char* /*module*/, const char* format,
               va_list arguments) {
  auto& session = *static_cast<TiffSession*>(user);
  if (session.reading_pixels) note(session, format, arguments);
  return 1;
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

struct RgbaReader {
  TIFFRGBAImage image{};
  bool begun = false;

  RgbaReader() = default;
  RgbaReader& operator=(RgbaReader&&) = delete;  // not copyable
  ~RgbaReader() {
    if (begun) TIFFRGBAImageEnd(&image);
  }
};

}  // namespace

Decoded decode_tiff(const Encoded& encoded) {
  TiffSession session{.encoded = &encoded, .complaint = {}};
  const auto refuse = [&](const std::string& otherwise) {
    refuse_damaged(encoded, session.complaint.empty() ? otherwise : session.complaint);
  };

  const std::unique_ptr<TIFFOpenOptions, CloseTiff> options(TIFFOpenOptionsAlloc());
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, &session);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, &session);
  // A strip or table cannot be larger than an image of the maximum size.
  constexpr std::uint64_t most_bytes_a_pixel = 32;
  TIFFOpenOptionsSetMaxSingleMemAlloc(
      options.get(), static_cast<tmsize_t>(encoded.max_pixels * most_bytes_a_pixel + (1U << 20U)));
  // "m": no memory mapping, all reads go through read_tiff_bytes.
  const std::unique_ptr<TIFF, CloseTiff> tiff(
      TIFFClientOpenExt("picture", "rm", &session, read_tiff_bytes, refuse_to_write, seek, close,
                        size, nullptr, nullptr, options.get()));
  if (tiff == nullptr) refuse("its directory cannot be read");

  std::uint32_t width = 0;
  std::uint32_t height = 0;
  if (TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
      TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) == 0) {
    refuse("its size is missing");
  }
  check_size(encoded, width, height);
  std::uint16_t orientation = 1;
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_ORIENTATION, &orientation);

  // libtiff would multiply the colours by their alpha; "associated" alpha prevents that.
  std::uint16_t extra_count = 0;
  std::uint16_t* extra = nullptr;
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_EXTRASAMPLES, &extra_count, &extra);
  if (extra_count > 0) {
    std::vector<std::uint16_t> kinds(extra, extra + extra_count);
    std::ranges::replace(kinds, std::uint16_t{EXTRASAMPLE_UNASSALPHA},
                         std::uint16_t{EXTRASAMPLE_ASSOCALPHA});
    TIFFSetField(tiff.get(), TIFFTAG_EXTRASAMPLES, extra_count, kinds.data());
  }

  std::array<char, 1024> why{};
  RgbaReader reader;
  constexpr int stop_on_error = 1;
  reader.begun = TIFFRGBAImageOK(tiff.get(), why.data()) != 0 &&
                 TIFFRGBAImageBegin(&reader.image, tiff.get(), stop_on_error, why.data()) != 0;
  if (!reader.begun) {
    if (session.complaint.empty()) refuse_unsupported(encoded, why.data());
    refuse(why.data());
  }
  // Rows as stored; the orientation is applied afterwards, as for the other formats.
  reader.image.orientation = ORIENTATION_TOPLEFT;
  reader.image.req_orientation = ORIENTATION_TOPLEFT;
  session.reading_pixels = true;
  std::vector<std::uint32_t> raster(std::size_t{width} * height);
  if (TIFFRGBAImageGet(&reader.image, raster.data(), width, height) == 0 ||
      !session.complaint.empty()) {
    refuse("its pixels cannot be read");
  }

  Decoded decoded{.image = Image(static_cast<int>(height), static_cast<int>(width), 3),
                  .orientation = orientation};
  std::uint8_t* out = decoded.image.data();
  for (std::size_t i = 0; i < raster.size(); ++i) {
    out[3 * i] = static_cast<std::uint8_t>(TIFFGetR(raster[i]));
    out[3 * i + 1] = static_cast<std::uint8_t>(TIFFGetG(raster[i]));
    out[3 * i + 2] = static_cast<std::uint8_t>(TIFFGetB(raster[i]));
  }
  return decoded;
}

}  // namespace seam::stages::formats
