#include "stages/image/decode_image.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <seam/error.hpp>
#include <seam/opencv.hpp>

#include "stages/image/formats/format.hpp"

namespace seam::stages {
namespace {

using formats::Decoded;
using formats::Encoded;

struct Format {
  std::string_view name;
  bool (*recognises)(std::string_view head);
  Decoded (*decode)(const Encoded& encoded);
};

/// The first bytes of a file, as many as in the longest signature.
constexpr std::size_t head_bytes = 16;

constexpr bool starts(std::string_view head, std::string_view signature, std::size_t at = 0) {
  return head.size() >= at + signature.size() && head.substr(at, signature.size()) == signature;
}

constexpr bool is_portable_map(std::string_view head) {
  return head.size() >= 3 && head[0] == 'P' && head[1] >= '1' && head[1] <= '7' &&
         (head[2] == ' ' || head[2] == '#' || (head[2] >= '\t' && head[2] <= '\r'));
}

constexpr std::array<Format, 4> readable{{
    {"JPEG", [](std::string_view head) { return starts(head, "\xFF\xD8\xFF"); },
     formats::decode_jpeg},
    {"PNG", [](std::string_view head) { return starts(head, "\x89PNG\r\n\x1A\n"); },
     formats::decode_png},
    {"WebP", [](std::string_view head) { return starts(head, "RIFF") && starts(head, "WEBP", 8); },
     formats::decode_webp},
    {"portable map", is_portable_map, formats::decode_portable_map},
}};

/// Names formats that are recognised but not supported, for the message.
std::string_view known_stranger(std::string_view head) {
  using namespace std::string_view_literals;
  if (starts(head, "BM")) return "a BMP image";
  if (starts(head, "GIF87a") || starts(head, "GIF89a")) return "a GIF image";
  if (starts(head, "II*\0"sv) || starts(head, "MM\0*"sv) || starts(head, "II+\0"sv) ||
      starts(head, "MM\0+"sv)) {
    return "a TIFF image";
  }
  if (starts(head, "\xFF\x4F\xFF\x51") || starts(head, "jP  \r\n\x87\n", 4)) {
    return "a JPEG 2000 image";
  }
  if (starts(head, "\xFF\x0A") || starts(head, "JXL \r\n\x87\n", 4)) return "a JPEG XL image";
  if (starts(head, "\x59\xA6\x6A\x95")) return "a Sun raster image";
  if (starts(head, "ftyp", 4)) return "an HEIF, AVIF or video file";
  if (starts(head, "\x76\x2F\x31\x01") || starts(head, "#?R")) return "a high dynamic range image";
  if (starts(head, "PF") || starts(head, "Pf")) return "a portable float map";
  if (starts(head, "\0\0\1\0"sv)) return "a Windows icon";
  if (starts(head, "8BPS")) return "a Photoshop document";
  if (starts(head, "%PDF")) return "a PDF document";
  if (starts(head, "<")) return "a text with tags, such as SVG or a web page";
  return {};
}

[[noreturn]] void refuse_stranger(std::string_view head, std::string_view name) {
  const std::string_view stranger = known_stranger(head);
  const std::filesystem::path file = std::filesystem::path(name).filename();
  const std::string png = std::filesystem::path(file).replace_extension(".png").string();
  throw Error(
      "'" + std::string(name) + "' is " +
      (stranger.empty() ? "not an image in a format that can be recognised by its first bytes"
                        : std::string(stranger)) +
      "; Seam reads JPEG, PNG, WebP, PBM, PGM, PPM and PAM: convert it" +
      (stranger.empty()
           ? ""
           : ", for example with ImageMagick (magick '" + file.string() + "' '" + png + "'),") +
      " or remove it from the list");
}

struct Close {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

[[noreturn]] void refuse_file(const std::filesystem::path& path, const std::string& why) {
  throw Error("'" + path.string() + "' cannot be read: " + why +
              "; check the path, the list's root, and the file's permissions");
}

std::string system_reason() {
  return std::generic_category().message(errno);
}

}  // namespace

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) refuse_file(path, "it is a folder");
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) refuse_file(path, system_reason());
  // The size is only an estimate: it is 0 for pipes, and files may grow.
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::vector<std::uint8_t> bytes(error ? 0 : static_cast<std::size_t>(size));
  std::size_t filled = 0;
  while (true) {
    filled += std::fread(bytes.data() + filled, 1, bytes.size() - filled, file.get());
    if (std::ferror(file.get()) != 0) refuse_file(path, system_reason());
    if (filled < bytes.size()) break;
    const int next = std::fgetc(file.get());
    if (next == EOF) break;
    bytes.resize(std::max<std::size_t>(2 * bytes.size(), 65536));
    bytes[filled++] = static_cast<std::uint8_t>(next);
  }
  bytes.resize(filled);
  return bytes;
}

Image decode_image(std::span<const std::uint8_t> bytes, std::string_view name,
                   std::uint64_t max_pixels) {
  if (bytes.empty()) {
    throw Error("'" + std::string(name) +
                "' is an empty file; download it again or remove it from the list");
  }
  std::array<char, head_bytes> buffer{};
  const std::size_t length = std::min(buffer.size(), bytes.size());
  std::memcpy(buffer.data(), bytes.data(), length);
  const std::string_view head(buffer.data(), length);
  const auto* const format =
      std::ranges::find_if(readable, [&](const Format& f) { return f.recognises(head); });
  if (format == readable.end()) refuse_stranger(head, name);
  const Decoded decoded = format->decode(
      {.bytes = bytes, .name = name, .format = format->name, .max_pixels = max_pixels});
  return upright(decoded.image, decoded.orientation);
}

Image upright(const Image& image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  // Position of the stored image's first row and column, Exif 2.32 table for tag 0x0112:
  //   1 top left, 2 top right, 3 bottom right, 4 bottom left, 5 left top, 6 right top,
  //   7 right bottom, 8 left bottom.
  const bool right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool bottom = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const cv::Mat stored = view_as_mat(image);
  cv::Mat turned;
  if (orientation >= 5) {
    cv::transpose(stored, turned);
  } else {
    turned = stored.clone();
  }
  if (right) cv::flip(turned, turned, 1);
  if (bottom) cv::flip(turned, turned, 0);
  return image_from_mat(turned);
}

}  // namespace seam::stages
