#include "stages/dataset/wardrobe/easel.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "stages/dataset/wardrobe/cloth.hpp"

namespace seam::stages::wardrobe {
namespace {

std::vector<cv::Point> on_canvas(const Points& points, const Camera& camera) {
  std::vector<cv::Point> out;
  for (const Point& p : points) out.push_back(fixed_point(camera(p)));
  return out;
}

int pixels(double length, const Camera& camera) {
  return std::max(1, static_cast<int>(std::lround(length * camera.scale)));
}

/// How much a surface of this height, or in cloth, is turned towards the light.
cv::Mat1f slope_towards(const Point& light, const cv::Mat1f& height) {
  cv::Mat1f across;
  cv::Mat1f down;
  cv::Sobel(height, across, CV_32F, 1, 0, 3, 0.25);
  cv::Sobel(height, down, CV_32F, 0, 1, 3, 0.25);
  return cv::Mat1f(cv::Mat(-light.x * across - light.y * down));
}

}  // namespace

Point Camera::operator()(const Point& p) const {
  const double bulge = std::max(0.0, 1 - (p.x / 0.4) * (p.x / 0.4));
  const double low = std::clamp(p.y + 0.6, 0.0, 0.7);
  return flat({p.x + front_shift * (bulge - 1) + sway * low, p.y});
}

Point Camera::flat(const Point& p) const {
  const Point away = p - target;
  const double x = away.x * narrowing + front_shift;
  return centre + scale * Point(x * std::cos(turn) - away.y * std::sin(turn),
                                x * std::sin(turn) + away.y * std::cos(turn));
}

Easel::Easel(cv::Mat3f picture, const Camera& camera, Point light, const cv::Mat3b& cloth)
    : camera_(camera), light_(light), picture_(std::move(picture)), folds_(picture_.size(), 1.0F) {
  const auto side = static_cast<float>(cloth.cols);
  const std::array<cv::Point2f, 3> from{{{0, 0}, {side, 0}, {0, side}}};
  std::array<cv::Point2f, 3> to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Point p = Point(from[i]) * (2 * cloth_reach / side) - Point(cloth_reach, cloth_reach);
    to[i] = camera_.flat(camera_.target + p);
  }
  cv::warpAffine(cloth, cloth_, cv::getAffineTransform(from.data(), to.data()), picture_.size(),
                 cv::INTER_LINEAR, cv::BORDER_REFLECT);
}

void Easel::lay_folds(Random& random, double top, double bottom) {
  cv::Mat1f height(folds_.size(), 0.0F);
  for (int i = 0; i < 16; ++i) {
    const double x = random.uniform(-0.4, 0.4);
    const double y = random.uniform(top, bottom);
    const double reach = random.uniform(-0.14, 0.14);
    const double fall = random.uniform(0.02, 0.2);
    const Points line = smooth({{x, y}, {x + reach * 0.6, y + fall * 0.3}, {x + reach, y + fall}});
    const double ridge_or_furrow = i % 2 == 0 ? 1 : -1;
    cv::polylines(height, std::vector{on_canvas(line, camera_)}, false, cv::Scalar(ridge_or_furrow),
                  pixels(0.025, camera_), cv::LINE_8, subpixel_bits);
  }
  const double softness = 0.022 * camera_.scale;
  cv::GaussianBlur(height, height, {}, softness);
  folds_ = 1 + 0.45 * softness * slope_towards(light_, height);
}

void Easel::fill(const Points& outline, const Colour& colour, double roundness) {
  paint(outline, cv::Mat3b(picture_.size(), colour), roundness);
}

void Easel::cut(const Points& outline, double roundness) {
  paint(outline, cloth_, roundness);
}

void Easel::stroke(const Points& line, const Colour& colour, double width) {
  cv::polylines(picture_, std::vector{on_canvas(line, camera_)}, false, cv::Scalar(colour),
                pixels(width, camera_), cv::LINE_8, subpixel_bits);
}

void Easel::paint(const Points& outline, const cv::Mat3b& ink, double roundness) {
  cv::Mat1b mask(picture_.size(), std::uint8_t{0});
  cv::fillPoly(mask, std::vector{on_canvas(outline, camera_)}, cv::Scalar(255), cv::LINE_AA,
               subpixel_bits);
  const int blur = pixels(2 * roundness, camera_) | 1;
  const cv::Point margin(2 * blur, 2 * blur);
  cv::Rect area = cv::boundingRect(mask);
  if (area.empty()) return;
  area = cv::Rect(area.tl() - margin, area.br() + margin) & cv::Rect({}, mask.size());
  cv::Mat1f inside;
  mask(area).convertTo(inside, CV_32F, 1.0 / 255);
  cv::Mat1f height;
  cv::blur(inside, height, {blur, blur});
  cv::blur(height, height, {blur, blur});
  const cv::Mat1f slope(cv::Mat(slope_towards(light_, height) * blur));
  for (int y = 0; y < area.height; ++y) {
    for (int x = 0; x < area.width; ++x) {
      cv::Vec3f& out = picture_(area.y + y, area.x + x);
      const float share = inside(y, x);
      out *= 1 - 0.42F * height(y, x) * (1 - share);  // its shadow on what lies underneath
      if (share == 0) continue;
      const float edge = 1 + 0.3F * slope(y, x) - 0.26F * (1 - height(y, x));
      const float light = edge * folds_(area.y + y, area.x + x);
      // A little sheen, so that folds are visible in black cloth too.
      const cv::Vec3f lit =
          cv::Vec3f(ink(area.y + y, area.x + x)) * light + cv::Vec3f::all(26 * (light - 1));
      out += (lit - out) * share;
    }
  }
}

}  // namespace seam::stages::wardrobe
