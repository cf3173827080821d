#include "stages/report/thumbnails.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <system_error>

#include <seam/error.hpp>
#include <seam/opencv.hpp>

#include "stages/image/decode_image.hpp"
#include "stages/image/read_file.hpp"
#include "stages/image/resize_image.hpp"

namespace seam::stages {
namespace fs = std::filesystem;

fs::path file_of(const Origin& origin, const fs::path& root) {
  fs::path name = origin.item;
  std::error_code missing;
  if (name.empty()) {
    throw Error("its data set does not provide a file", Fault::data);
  }
  if (!root.empty()) {
    fs::path file = root / name;  // an absolute name is used as is
    if (fs::is_regular_file(file, missing)) return file;
    throw Error("no file '" + file.string() +
                    "'; set 'root' to the folder that the list's names are relative to",
                Fault::data);
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
  const int longer = std::max(image.height(), image.width());
  if (longer <= size) return image;
  const auto scaled = [&](int side) {
    return std::max(1, static_cast<int>(std::lround(static_cast<double>(side) * size / longer)));
  };
  return resize_image(image, scaled(image.height()), scaled(image.width()), Interpolation::area);
}

Image read_thumbnail(const fs::path& file, int size) {
  const std::vector<std::uint8_t> bytes = read_file(file);
  return thumbnail_of(decode_image(bytes, file.string()), size);
}

std::vector<std::uint8_t> jpeg_of(const Image& image) {
  constexpr int quality = 88;
  cv::Mat pixels = view_as_mat(image);
  cv::Mat blue_first;
  if (image.channels() == 3) {
    cv::cvtColor(pixels, blue_first, cv::COLOR_RGB2BGR);
    pixels = std::move(blue_first);
  }
  std::vector<std::uint8_t> bytes;
  if (!cv::imencode(".jpg", pixels, bytes, {cv::IMWRITE_JPEG_QUALITY, quality})) {
    throw Error("OpenCV cannot write JPEG", Fault::internal);
  }
  return bytes;
}

}  // namespace seam::stages
