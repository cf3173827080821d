#include "stages/dataset/wardrobe/easel.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace seam::stages::wardrobe {

cv::Mat1b softened(const cv::Mat1b& mask, double sigma) {
  cv::Mat1b small;
  const cv::Size size(std::max(mask.cols / 4, 1), std::max(mask.rows / 4, 1));
  cv::resize(mask, small, size, 0, 0, cv::INTER_AREA);
  cv::GaussianBlur(small, small, {}, std::max(sigma / 4, 0.6), 0, cv::BORDER_CONSTANT);
  cv::Mat1b soft;
  cv::resize(small, soft, mask.size(), 0, 0, cv::INTER_LINEAR);
  return soft;
}

Easel::Easel(int side, const Camera& camera, Point light)
    : camera_(camera),
      light_(light),
      colour_(side, side, cv::Vec3b(128, 128, 128)),
      cover_(side, side, std::uint8_t{0}),
      folds_(side, side, 1.0F) {}

void Easel::lay_folds(const std::vector<Fold>& folds) {
  const int half = colour_.cols / 2;
  cv::Mat1f height(half, half, 0.0F);
  for (const Fold& fold : folds) {
    std::vector<cv::Point> points;
    for (const Point& p : fold.line) points.push_back(fixed_point(camera_(p) * 0.5));
    const int thickness = std::max(1, static_cast<int>(std::lround(fold.width * camera_.scale)));
    cv::polylines(height, std::vector{points}, false, cv::Scalar(fold.height), thickness,
                  cv::LINE_8, subpixel_bits);
  }
  const double sigma = 0.014 * camera_.scale;
  cv::GaussianBlur(height, height, {}, std::max(sigma, 0.8));
  cv::Mat1f shade(half, half, 1.0F);
  const auto strength = static_cast<float>(0.55 * std::max(sigma, 0.8));
  for (int y = 1; y + 1 < half; ++y) {
    for (int x = 1; x + 1 < half; ++x) {
      const float dx = height(y, x + 1) - height(y, x - 1);
      const float dy = height(y + 1, x) - height(y - 1, x);
      const float lit = dx * static_cast<float>(light_.x) + dy * static_cast<float>(light_.y);
      shade(y, x) = std::clamp(1 - strength * lit + 0.05F * height(y, x), 0.55F, 1.35F);
    }
  }
  cv::resize(shade, folds_, folds_.size(), 0, 0, cv::INTER_LINEAR);
}

void Easel::fill(const Points& outline, const Fabric& fabric, double roundness) {
  const double sigma = std::max(roundness * camera_.scale, 1.0);
  const int margin = static_cast<int>(2.5 * sigma) + 4;
  const cv::Rect area = bounds(outline, margin);
  if (area.empty()) return;
  cv::Mat1b mask(area.size(), std::uint8_t{0});
  cv::fillPoly(mask, std::vector{camera_.fixed(outline, area.tl())}, cv::Scalar(255), cv::LINE_AA,
               subpixel_bits);
  const cv::Mat1b soft = softened(mask, sigma);
  cv::Mat3b cloth;
  if (fabric.pixels != nullptr) cloth = cut(fabric, area);
  shade_in(area, mask, soft, cloth, fabric, sigma);
}

void Easel::stroke(const Points& line, const Colour& colour, double width, bool closed) {
  const int thickness = std::max(1, static_cast<int>(std::lround(width * camera_.scale)));
  cv::polylines(colour_, std::vector{camera_.fixed(line, {})}, closed, scalar(colour), thickness,
                cv::LINE_AA, subpixel_bits);
}

void Easel::stitch(const Points& line, const Colour& colour) {
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const Point way = line[i + 1] - line[i];
    const int count = std::max(1, static_cast<int>(std::hypot(way.x, way.y) / 0.035));
    for (int k = 0; k < count; ++k) {
      stroke({line[i] + way * (double(k) / count), line[i] + way * ((k + 0.55) / count)}, colour,
             0.006);
    }
  }
}

cv::Rect Easel::bounds(const Points& outline, int margin) const {
  double left = 1e9;
  double top = 1e9;
  double right = -1e9;
  double bottom = -1e9;
  for (const Point& p : outline) {
    const Point q = camera_(p);
    left = std::min(left, q.x);
    right = std::max(right, q.x);
    top = std::min(top, q.y);
    bottom = std::max(bottom, q.y);
  }
  const cv::Rect wanted(static_cast<int>(std::floor(left)) - margin,
                        static_cast<int>(std::floor(top)) - margin,
                        static_cast<int>(right - left) + 2 * margin + 2,
                        static_cast<int>(bottom - top) + 2 * margin + 2);
  return wanted & cv::Rect(0, 0, colour_.cols, colour_.rows);
}

cv::Mat3b Easel::cut(const Fabric& fabric, const cv::Rect& area) const {
  const double c = std::cos(fabric.turn);
  const double s = std::sin(fabric.turn);
  const double k = fabric.texels_per_unit / camera_.scale;
  const double kx = k / camera_.narrowing;
  const Point origin = camera_(fabric.origin);
  const double ox = area.x - origin.x;
  const double oy = area.y - origin.y;
  const double middle = fabric.pixels->cols / 2.0;
  const cv::Matx23d texel_of_pixel(c * kx, s * k, middle + c * kx * ox + s * k * oy,  //
                                   -s * kx, c * k, middle - s * kx * ox + c * k * oy);
  cv::Mat3b piece;
  cv::warpAffine(*fabric.pixels, piece, texel_of_pixel, area.size(),
                 cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_REFLECT);
  return piece;
}

void Easel::shade_in(const cv::Rect& area, const cv::Mat1b& mask, const cv::Mat1b& soft,
                     const cv::Mat3b& cloth, const Fabric& fabric, double sigma) {
  const int step = std::max(1, static_cast<int>(sigma / 3));
  const float per_step = static_cast<float>(sigma * 1.2 / (2 * step) / 255);
  const auto light_x = static_cast<float>(light_.x);
  const auto light_y = static_cast<float>(light_.y);
  const std::array<float, 3> flat{static_cast<float>(fabric.flat.blue),
                                  static_cast<float>(fabric.flat.green),
                                  static_cast<float>(fabric.flat.red)};
  const bool has_cloth = !cloth.empty();
  for (int y = 0; y < area.height; ++y) {
    const cv::Vec3b* const thread = has_cloth ? cloth[y] : nullptr;
    cv::Vec3b* const out = colour_[area.y + y] + area.x;
    std::uint8_t* const cover = cover_[area.y + y] + area.x;
    const float* const folds = folds_[area.y + y] + area.x;
    const std::uint8_t* const row = soft[y];
    const std::uint8_t* const above = soft[std::max(y - step, 0)];
    const std::uint8_t* const below = soft[std::min(y + step, area.height - 1)];
    const std::uint8_t* const inside = mask[y];
    for (int x = 0; x < area.width; ++x) {
      const float near = static_cast<float>(row[x]) / 255;
      if (inside[x] < 255 && near > 0.02F) {  // contact shadow on what lies underneath
        const float dim = 1 - 0.42F * near;
        for (int c = 0; c < 3; ++c) {
          out[x][c] = static_cast<std::uint8_t>(static_cast<float>(out[x][c]) * dim);
        }
      }
      if (inside[x] == 0) continue;
      const float gx =
          static_cast<float>(row[std::min(x + step, area.width - 1)] - row[std::max(x - step, 0)]) *
          per_step;
      const float gy = static_cast<float>(below[x] - above[x]) * per_step;
      float shade = 1 - 0.34F * (gx * light_x + gy * light_y) - 0.26F * (1 - near);
      if (fabric.folds) shade *= folds[x];
      const float share = static_cast<float>(inside[x]) / 255;
      for (int c = 0; c < 3; ++c) {
        const float ink =
            !has_cloth ? flat[static_cast<std::size_t>(c)] : static_cast<float>(thread[x][c]);
        // A little sheen, so that folds are visible in black cloth too.
        const float lit = std::clamp(ink * shade + 26 * (shade - 1), 0.0F, 255.0F);
        const float under = static_cast<float>(out[x][c]);
        out[x][c] = static_cast<std::uint8_t>(under + (lit - under) * share);
      }
      cover[x] = std::max(cover[x], inside[x]);
    }
  }
}

}  // namespace seam::stages::wardrobe
