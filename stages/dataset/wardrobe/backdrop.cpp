#include "stages/dataset/wardrobe/backdrop.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "stages/dataset/wardrobe/shapes.hpp"

namespace seam::stages::wardrobe {

cv::Mat3b backdrop(Random& random, int full_canvas, View view) {
  const int canvas = full_canvas / 2;  // out of focus anyway
  constexpr std::array<Colour, 8> walls{{{226, 226, 226},
                                         {206, 210, 214},
                                         {238, 234, 226},
                                         {214, 204, 190},
                                         {196, 208, 212},
                                         {222, 208, 208},
                                         {186, 190, 180},
                                         {170, 174, 182}}};
  const auto kind = view == View::flat ? 3 : static_cast<int>(random.index(3));
  const Colour wall = scaled(walls[random.index(walls.size())], random.uniform(0.88, 1.08));
  const Colour other = scaled(walls[random.index(walls.size())], random.uniform(0.72, 0.95));
  const double horizon = random.uniform(0.62, 0.85) * canvas;
  const double glow_x = random.uniform(0.2, 0.8) * canvas;
  const double glow_y = random.uniform(0.1, 0.6) * canvas;
  const double glow = random.uniform(0.04, 0.16);
  const double plank = random.uniform(0.08, 0.16) * canvas;
  const double door = random.uniform(-0.2, 1.0) * canvas;
  cv::Mat3b picture(canvas, canvas);
  for (int y = 0; y < canvas; ++y) {
    for (int x = 0; x < canvas; ++x) {
      const double dx = (x - glow_x) / canvas;
      const double dy = (y - glow_y) / canvas;
      const double away = dx * dx + dy * dy;
      double light = 1 + glow - 0.28 * away - 0.1 * std::sqrt(away);
      Colour c = wall;
      if (kind == 1) c = mixed(wall, other, double(y) / canvas);
      if (kind == 2) {
        if (y > horizon) {
          c = scaled(other, 0.9);
          if (y < horizon + 0.012 * canvas) light *= 0.8;
        } else if (x > door && x < door + 0.28 * canvas && y > 0.12 * canvas) {
          light *= 0.92;  // a door or a panel
        }
      }
      if (kind == 3) {
        const double t = std::fmod(x + 0.3 * y + 10 * canvas, plank) / plank;
        light *= t < 0.04 ? 0.88 : 1.0;
        c = mixed(wall, other, 0.25);
      }
      picture(y, x) = {static_cast<std::uint8_t>(std::clamp(c.blue * light, 0.0, 255.0)),
                       static_cast<std::uint8_t>(std::clamp(c.green * light, 0.0, 255.0)),
                       static_cast<std::uint8_t>(std::clamp(c.red * light, 0.0, 255.0))};
    }
  }
  cv::resize(picture, picture, {full_canvas, full_canvas}, 0, 0, cv::INTER_LINEAR);
  return picture;
}

Warp::Warp(Random& random, int canvas, View view) : from_(canvas, canvas) {
  const double most = view == View::flat ? 0.35 : 0.09;
  const double turn = random.uniform(-most, most);
  const auto tilt_x = static_cast<float>(random.uniform(-0.10, 0.10));
  const auto tilt_y = static_cast<float>(random.uniform(-0.10, 0.10));
  const auto bend = static_cast<float>(random.uniform(-0.03, 0.03));
  const auto sway = static_cast<float>(random.uniform(-0.03, 0.03));
  const auto c = static_cast<float>(std::cos(turn));
  const auto s = static_cast<float>(std::sin(turn));
  const float half = static_cast<float>(canvas) / 2;
  for (int y = 0; y < canvas; ++y) {
    const float v = static_cast<float>(y) / half - 1;
    cv::Vec2f* const row = from_[y];
    for (int x = 0; x < canvas; ++x) {
      const float u = static_cast<float>(x) / half - 1;
      const float w = 1 / (1 + tilt_x * u + tilt_y * v);
      const float a = (c * u + s * v) * w;
      const float b = (c * v - s * u) * w;
      row[x] = {half + half * (a + bend * (b * b - 0.3F) + sway * b * (b * b - 0.7F)),
                half + half * b};
    }
  }
}

cv::Mat Warp::apply(const cv::Mat& picture) const {
  cv::Mat out;
  cv::remap(picture, out, from_, cv::noArray(), cv::INTER_LINEAR, cv::BORDER_REPLICATE);
  return out;
}

}  // namespace seam::stages::wardrobe
