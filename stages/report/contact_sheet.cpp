#include "stages/report/contact_sheet.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <seam/opencv.hpp>
#include <system_error>

#include "stages/dataset/tar_reader.hpp"
#include "stages/image/decode_image.hpp"
#include "stages/image/resize_image.hpp"

namespace seam::stages {
namespace fs = std::filesystem;

namespace {

constexpr int margin = 4;  // around a cell; the frame is inside it
constexpr int line_height = 13;
constexpr double font_scale = 0.8;

cv::Scalar colour_of(Role role) {  // Okabe and Ito's palette, suitable for the colour-blind
  static const std::array<cv::Scalar, 4> colours{
      {{200, 200, 200}, {0, 114, 178}, {0, 158, 115}, {213, 94, 0}}};
  return colours.at(static_cast<std::size_t>(role));
}

/// Restricts a text to ASCII, as needed by OpenCV's fonts, and cuts it to `width`.
std::string drawable(const std::string& text, int width) {
  constexpr char first = ' ';
  constexpr char last = '~';
  std::string plain;
  for (const char c : text) {
    plain += c >= first && c <= last ? c : '?';
    int below = 0;
    if (cv::getTextSize(plain, cv::FONT_HERSHEY_PLAIN, font_scale, 1, &below).width > width) {
      plain.pop_back();
      break;
    }
  }
  return plain;
}

Image scaled(const Image& image, int size) {
  const int longer = std::max(image.height(), image.width());
  const auto side = [&](int pixels) {
    return std::max(1, static_cast<int>(std::lround(static_cast<double>(pixels) * size / longer)));
  };
  return resize_image(image, side(image.height()), side(image.width()),
                      longer > size ? Interpolation::area : Interpolation::nearest);
}

}  // namespace

std::string role_name(Role role) {
  constexpr std::array names{"", "anchor", "positive", "negative"};
  return names.at(static_cast<std::size_t>(role));
}

std::size_t sheet_columns(std::span<const std::int64_t> groups, std::size_t most) {
  std::size_t longest = 1;
  std::size_t length = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    length = i > 0 && groups[i] >= 0 && groups[i] == groups[i - 1] ? length + 1 : 1;
    longest = std::max(longest, length);
  }
  const std::size_t columns = longest >= most ? most : most / longest * longest;
  return std::clamp<std::size_t>(columns, 1, std::max<std::size_t>(groups.size(), 1));
}

Image blank() {
  constexpr std::uint8_t grey = 224;
  Image image(1, 1, 3);
  std::fill_n(image.data(), image.bytes(), grey);
  return image;
}

Image contact_sheet(std::span<const SheetCell> cells, std::size_t columns, int size) {
  const auto across = static_cast<int>(columns);
  const auto down = static_cast<int>((cells.size() + columns - 1) / columns);
  const int width = size + 2 * margin;
  const int height = size + 2 * margin + 2 * line_height;
  cv::Mat sheet(down * height, across * width, CV_8UC3, cv::Scalar(255, 255, 255));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const SheetCell& cell = cells[i];
    const int left = static_cast<int>(i % columns) * width + margin;
    const int top = static_cast<int>(i / columns) * height + margin;
    const Image small = scaled(cell.image, size);
    const cv::Rect place(left + (size - small.width()) / 2, top + (size - small.height()) / 2,
                         small.width(), small.height());
    view_as_mat(small).copyTo(sheet(place));
    cv::rectangle(sheet, cv::Rect(left - 2, top - 2, size + 4, size + 4), colour_of(cell.role), 2);
    for (int line = 0; line < 2; ++line) {
      cv::putText(sheet, drawable(cell.text[static_cast<std::size_t>(line)], size),
                  {left, top + size + (line + 1) * line_height}, cv::FONT_HERSHEY_PLAIN, font_scale,
                  cv::Scalar(0, 0, 0), 1, cv::LINE_AA);
    }
  }
  return image_from_mat(sheet);
}

fs::path file_of(const Origin& origin, const fs::path& root, const fs::path& known) {
  fs::path name = origin.item;
  std::error_code missing;
  if (name.empty()) {
    throw Error("its data set does not provide a file", Fault::data);
  }
  if (origin.file && origin.file->starts_with("pipe:")) {
    throw Error("it was in the output of a command, which is not kept", Fault::data);
  }
  if (origin.file && is_tar(*origin.file)) return fs::path(*origin.file) / name;
  if (!root.empty()) {
    fs::path file = root / name;  // an absolute name is used as is
    if (fs::is_regular_file(file, missing)) return file;
    throw Error("no file '" + file.string() +
                    "'; set 'root' to the folder that the list's names are relative to",
                Fault::data);
  }
  if (!known.empty()) {
    const bool is_part = fs::is_regular_file(known.parent_path(), missing);  // a.jpg/0,0,2,2
    return is_part ? known.parent_path() : known;
  }
  if (name.is_absolute() && fs::is_regular_file(name, missing)) return name;
  // A list is in the data set's folder or below it: root/list.csv, root/Eval/list.txt.
  constexpr int most_folders = 4;
  fs::path folder = origin.file ? fs::path(*origin.file) : fs::path();
  for (int above = 0; above < most_folders; ++above) {
    fs::path file = folder / name;
    if (fs::is_regular_file(file, missing)) return file;
    if (folder.empty()) break;  // the working directory
    folder = folder.parent_path() == folder ? fs::path() : folder.parent_path();
  }
  throw Error("'" + origin.item + "' was not found from " +
                  (origin.file ? "'" + *origin.file + "'" : std::string("the working directory")) +
                  " upwards; set 'root' to the folder that it is relative to",
              Fault::data);
}

Image thumbnail_of(const Image& image, int size) {
  return std::max(image.height(), image.width()) <= size ? image : scaled(image, size);
}

Image read_thumbnail(const fs::path& file, int size) {
  const std::optional<FilePiece> member = find_member(file);
  const std::vector<std::uint8_t> bytes = member ? member->read() : read_file(file);
  return thumbnail_of(decode_image(bytes, file.string()), size);
}

}  // namespace seam::stages
