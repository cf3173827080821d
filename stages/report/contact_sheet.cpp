#include "stages/report/contact_sheet.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include <seam/opencv.hpp>

#include "stages/image/resize_image.hpp"

namespace seam::stages {
namespace {

constexpr int margin = 4;  // around a cell; the frame is inside it
constexpr int line_height = 13;
constexpr double font_scale = 0.8;

cv::Scalar colour_of(Role role) {  // Okabe and Ito's palette, suitable for the colour-blind
  switch (role) {
    case Role::anchor:
      return {0, 114, 178};
    case Role::positive:
      return {0, 158, 115};
    case Role::negative:
      return {213, 94, 0};
    case Role::single:
      break;
  }
  return {200, 200, 200};
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
  switch (role) {
    case Role::anchor:
      return "anchor";
    case Role::positive:
      return "positive";
    case Role::negative:
      return "negative";
    case Role::single:
      break;
  }
  return "";
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

}  // namespace seam::stages
