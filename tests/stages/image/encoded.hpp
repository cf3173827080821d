/// Images as files, written by OpenCV's encoders.
#pragma once

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include <seam/opencv.hpp>

namespace seam::test {

using Bytes = std::vector<std::uint8_t>;

/// Any of OpenCV's formats; a matrix of three channels is blue, green, red.
inline Bytes encode(const cv::Mat& mat, const std::string& extension,
                    const std::vector<int>& parameters = {}) {
  Bytes bytes;
  cv::imencode(extension, mat, bytes, parameters);
  return bytes;
}

inline Bytes encode(const Image& image, const std::string& extension,
                    const std::vector<int>& parameters = {}) {
  cv::Mat blue_first;
  cv::cvtColor(view_as_mat(image), blue_first, cv::COLOR_RGB2BGR);
  return encode(blue_first, extension, parameters);
}

}  // namespace seam::test
