#include "stages/dataset/wardrobe/cloth.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <opencv2/imgproc.hpp>

namespace seam::stages::wardrobe {
namespace {

constexpr double pi = std::numbers::pi;

double fraction(double value) {
  return value - std::floor(value);
}

bool is_odd(double value) {
  return fraction(std::floor(value) / 2) > 0;
}

/// 0 at whole numbers, 1 halfway between them.
double triangle_wave(double value) {
  return 1 - std::abs(2 * fraction(value) - 1);
}

/// Smooth noise around 0.5.
cv::Mat1f clouds(Random& random, int cells, int side) {
  cv::Mat1f noise(cells, cells);
  for (float& value : noise) value = static_cast<float>(random.uniform());
  cv::resize(noise, noise, {side, side}, 0, 0, cv::INTER_CUBIC);
  return noise;
}

/// The colour at a point, counted from the middle of the garment, of patterns that are a formula.
Colour colour_at(const GarmentDesign& design, const Colourway& colours, double x, double y) {
  using enum Pattern;
  const double height = (design.bottom() - design.top()) / 2;
  const double u = x / design.period;
  const double v = y / design.period;
  const bool other = design.variant == 1;
  switch (design.pattern) {
    case fade:
      return mixed(colours.base, colours.second, std::clamp(0.5 + y / height, 0.0, 1.0));
    case stripes: {
      const double bend = design.variant == 2 ? 0.6 * triangle_wave(u / 1.6) : 0;
      const double along = u * std::sin(design.angle) + v * std::cos(design.angle) + bend;
      if (fraction(along) > design.duty) return colours.base;
      return other && is_odd(along) ? colours.accent : colours.second;
    }
    case checks:
      if (other && std::min(fraction(u), fraction(v)) < 0.12) return colours.accent;
      return mixed(colours.base, colours.second,
                   0.5 * (int(fraction(u) < design.duty) + int(fraction(v) < design.duty)));
    case dots: {
      const double column = u + (is_odd(v) && design.variant != 2 ? 0.5 : 0.0);
      const double away = std::hypot(fraction(column) - 0.5, fraction(v) - 0.5);
      const double radius = 0.18 + 0.35 * design.duty;
      if (away > radius) return colours.base;
      return other && away < radius / 2 ? colours.accent : colours.second;
    }
    case diamonds: {
      const double a = u + v / 1.6;
      const double b = u - v / 1.6;
      if (design.variant != 0 && (fraction(a) < 0.1 || fraction(b) < 0.1)) return colours.accent;
      return is_odd(a) == is_odd(b) ? colours.second : colours.base;
    }
    case blocks: {
      const double below = y + (design.variant == 2 ? x : 0) + height * (0.9 - 1.6 * design.duty);
      if (design.variant != 0 && std::abs(below) < 0.07) return colours.accent;
      return below > 0 ? colours.second : colours.base;
    }
    default:
      return colours.base;
  }
}

/// Motifs on a jittered grid, some in the accent colour.
void scatter(cv::Mat3b& cloth, const GarmentDesign& design, const Colourway& colours,
             Random& random, double texels_per_unit) {
  const Points outline = motif_outline(design);
  const double cell = design.period * 1.15 * texels_per_unit;
  for (int row = 0; row * cell * 0.9 < cloth.rows + cell; ++row) {
    for (int column = 0; column * cell < cloth.cols + cell; ++column) {
      const double aside = random.uniform(-0.16, 0.16);
      const double below = random.uniform(-0.16, 0.16);
      const double scale = cell * (0.3 + 0.14 * design.duty) * random.uniform(0.85, 1.15);
      const double turn = random.uniform(0, 2 * pi);
      const Point centre((column + 0.5 * (row % 2) + aside) * cell, (row * 0.9 + below) * cell);
      std::vector<cv::Point> points;
      for (const Point& p : placed(outline, centre, scale, turn)) points.push_back(fixed_point(p));
      const Colour& colour = random.coin(0.3) ? colours.accent : colours.second;
      cv::fillPoly(cloth, std::vector{points}, cv::Scalar(colour), cv::LINE_AA, subpixel_bits);
    }
  }
}

}  // namespace

Points motif_outline(const GarmentDesign& design) {
  Points points;
  constexpr int corners = 40;
  for (int i = 0; i < corners; ++i) {
    const double angle = 2 * pi * i / corners;
    Point p(std::sin(angle), -std::cos(angle));
    if (design.motif == Motif::star) {
      p *= 0.42 + 0.58 * triangle_wave(0.5 + (5 + design.variant) * angle / (2 * pi));
    } else if (design.motif == Motif::flower) {
      p *= 0.62 + 0.38 * std::cos((4 + design.variant) * angle);
    } else {
      p.y += 0.35 * std::cos(2 * angle) + 0.1 * std::cos(3 * angle);
      p.x = p.x * p.x * p.x;
    }
    points.push_back(p);
  }
  return points;
}

cv::Mat3b weave(const GarmentDesign& design, const Colourway& colours, Random random, int texels) {
  const double texels_per_unit = texels / (2 * cloth_reach);
  cv::Mat3b cloth(texels, texels);
  for (int row = 0; row < texels; ++row) {
    for (int column = 0; column < texels; ++column) {
      const double x = (column + 0.5) / texels_per_unit - cloth_reach;
      const double y = (row + 0.5) / texels_per_unit - cloth_reach;
      cloth(row, column) = colour_at(design, colours, x, y);
    }
  }
  if (design.pattern == Pattern::camouflage) {
    const int cells = static_cast<int>(3 * cloth_reach / design.period);
    cloth.setTo(cv::Scalar(colours.second), clouds(random, cells, texels) > 0.6);
    cloth.setTo(cv::Scalar(colours.accent), clouds(random, cells, texels) > 0.7);
  }
  if (design.pattern == Pattern::scattered) {
    scatter(cloth, design, colours, random, texels_per_unit);
  }
  return cloth;
}

}  // namespace seam::stages::wardrobe
