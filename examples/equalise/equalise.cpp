#include "equalise.hpp"

#include <opencv2/imgproc.hpp>
#include <seam/opencv.hpp>
#include <vector>

void Equalise::declare(seam::Declaration& d) {
  d.doc(
      "Contrast-limited adaptive histogram equalisation of the lightness (Zuiderveld, *Graphics "
      "Gems IV*, 1994) with OpenCV. Colours do not change.");
  d.parameter("clip_limit", clip_limit_, "limit of the contrast amplification").range(0.1, 1000);
  d.parameter("tiles", tiles_, "number of tiles per side").range(1, 256);
  // The same names: the size stays, so a network after this stage knows it.
  d.needs(seam::field::image).contract("u8[H,W,3]");
  d.provides(seam::field::image).contract("u8[H,W,3]");
}

void Equalise::process(seam::Packet& packet, seam::Context& /*context*/) const {
  const seam::Image& image = packet.get(seam::field::image);
  if (image.channels() != 3) throw seam::Error("three channels are needed: red, green, blue");
  // The host catches OpenCV's exceptions and reports them in a message that names the image.
  cv::Mat lab;
  cv::cvtColor(seam::view_as_mat(image), lab, cv::COLOR_RGB2Lab);
  std::vector<cv::Mat> planes;
  cv::split(lab, planes);
  // One per call: it has internal tables, and process() runs on many threads.
  cv::createCLAHE(clip_limit_, {tiles_, tiles_})->apply(planes[0], planes[0]);
  cv::merge(planes, lab);
  // Other packets may share the old pixels, so the result is written to a new image.
  seam::Image result(image.height(), image.width(), 3);
  cv::Mat view = seam::view_as_mat(result);
  cv::cvtColor(lab, view, cv::COLOR_Lab2RGB);
  packet.set(seam::field::image, result);
}
