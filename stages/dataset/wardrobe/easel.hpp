/// Paints the parts of a figure over one another, with folds, light and shadow.
#pragma once

#include <opencv2/core.hpp>

#include "stages/dataset/wardrobe/camera.hpp"
#include "stages/dataset/wardrobe/design.hpp"
#include "stages/dataset/wardrobe/shapes.hpp"

namespace seam::stages::wardrobe {

/// The source of a part's pixels: a cloth laid over the figure, or one colour.
struct Fabric {
  const cv::Mat3b* pixels = nullptr;
  double texels_per_unit = 1;
  Point origin;     ///< the point of the figure where the cloth's middle lies
  double turn = 0;  ///< how the cloth is turned, radians
  Colour flat;
  bool folds = true;  ///< lies in folds, as cloth does and skin does not
};

/// Blurs a mask widely and cheaply: at a quarter of the size.
[[nodiscard]] cv::Mat1b softened(const cv::Mat1b& mask, double sigma);

/// Paints parts of a figure over one another and keeps what they cover.
class Easel {
 public:
  Easel(int side, const Camera& camera, Point light);

  /// Soft ridges and furrows: each line has a half width and a height, in figure units.
  struct Fold {
    Points line;
    double width = 0.02;
    double height = 1;
  };
  void lay_folds(const std::vector<Fold>& folds);
  /// `roundness`: how wide its edges curve away from the viewer, figure units.
  void fill(const Points& outline, const Fabric& fabric, double roundness);
  /// A line on top of what is there; width in figure units.
  void stroke(const Points& line, const Colour& colour, double width, bool closed = false);
  /// Stitches: a broken line.
  void stitch(const Points& line, const Colour& colour);

  [[nodiscard]] const cv::Mat3b& colour() const { return colour_; }
  [[nodiscard]] const cv::Mat1b& cover() const { return cover_; }

 private:
  [[nodiscard]] cv::Rect bounds(const Points& outline, int margin) const;
  /// The piece of cloth that lies over an area of the canvas.
  [[nodiscard]] cv::Mat3b cut(const Fabric& fabric, const cv::Rect& area) const;
  void shade_in(const cv::Rect& area, const cv::Mat1b& mask, const cv::Mat1b& soft,
                const cv::Mat3b& cloth, const Fabric& fabric, double sigma);

  Camera camera_;
  Point light_;
  cv::Mat3b colour_;
  cv::Mat1b cover_;
  cv::Mat1f folds_;
};

}  // namespace seam::stages::wardrobe
