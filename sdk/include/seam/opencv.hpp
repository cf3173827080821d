// SPDX-License-Identifier: Apache-2.0
/// Views a seam::Image as a cv::Mat and back, without copying pixels. Opt-in: link Seam::opencv.
#pragma once

#include <memory>
#include <opencv2/core.hpp>
#include <stdexcept>

#include "seam/image.hpp"

namespace seam {

/// A cv::Mat over the image's pixels, CV_8UC(channels), valid while `image` (or a copy of its
/// handle) lives. OpenCV has no read-only Mat: do not write through it to a shared image.
inline cv::Mat view_as_mat(const Image& image) {
  return {image.height(), image.width(), CV_8UC(image.channels()),
          const_cast<std::uint8_t*>(image.data())};  // see above: cv::Mat cannot be const
}

/// An image over the matrix's memory, which it keeps alive. Copies only if rows are not packed.
/// Throws std::invalid_argument for anything but 8-bit pixels.
inline Image image_from_mat(const cv::Mat& mat) {
  if (mat.depth() != CV_8U || mat.dims != 2) {
    throw std::invalid_argument("only a two-dimensional 8-bit matrix can become an image");
  }
  const auto keeper = std::make_shared<cv::Mat>(mat.isContinuous() ? mat : mat.clone());
  return {mat.rows, mat.cols, mat.channels(), std::shared_ptr<std::uint8_t>(keeper, keeper->data)};
}

}  // namespace seam
