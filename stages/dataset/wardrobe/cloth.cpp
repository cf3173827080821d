#include "stages/dataset/wardrobe/cloth.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <opencv2/imgproc.hpp>

#include "stages/dataset/wardrobe/shapes.hpp"

namespace seam::stages {

using namespace wardrobe;

namespace {

constexpr double pi = std::numbers::pi;

double fraction(double value) {
  return value - std::floor(value);
}

/// 0 at whole numbers, 1 halfway between them.
double zigzag(double value) {
  return 1 - std::abs(2 * fraction(value) - 1);
}

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
}

/// Smooth noise in 0..1 over the plane, repeating every 32 cells.
class Noise {
 public:
  explicit Noise(Random& random) {
    for (double& value : lattice_) value = random.uniform();
  }
  [[nodiscard]] double operator()(double x, double y) const {
    const double fx = std::floor(x);
    const double fy = std::floor(y);
    const double u = smooth(x - fx);
    const double v = smooth(y - fy);
    const auto ix = static_cast<int>(fx);
    const auto iy = static_cast<int>(fy);
    const double top = at(ix, iy) + u * (at(ix + 1, iy) - at(ix, iy));
    const double bottom = at(ix, iy + 1) + u * (at(ix + 1, iy + 1) - at(ix, iy + 1));
    return top + v * (bottom - top);
  }

 private:
  static double smooth(double t) { return t * t * (3 - 2 * t); }
  [[nodiscard]] double at(int x, int y) const {
    return lattice_[static_cast<std::size_t>(((y & 31) << 5) | (x & 31))];
  }
  std::array<double, 1024> lattice_{};
};

struct Ink {
  double second = 0;
  double accent = 0;
  double relief = 128;
};

/// Patterns that are a formula of the position.
class Weaver {
 public:
  Weaver(const GarmentDesign& design, Random& random, double texels_per_unit)
      : design_(design),
        noise_(random),
        texels_per_unit_(texels_per_unit),
        half_height_((design.bottom() - design.top()) / 2),
        phase_(random.uniform()) {}

  [[nodiscard]] Ink at(double x, double y) const {
    using enum Pattern;
    const double period = design_.pattern_period;
    const double duty = design_.pattern_duty;
    const int variant = design_.pattern_variant;
    Ink ink;
    switch (design_.pattern) {
      case marl:
        ink.second = 0.75 * noise_(x * 30, y * 11);
        break;
      case cable_knit: {
        const double column = x / (period * 0.8);
        const double twist = 0.25 * std::sin(2 * pi * y / period);
        ink.relief = 128 + 46 * std::sin(2 * pi * (column + twist)) * std::cos(pi * column) +
                     14 * std::sin(2 * pi * y / 0.05);
        break;
      }
      case stripes_across:
        ink = stripes(y + phase_ * period, period, duty, variant);
        break;
      case stripes_down:
        ink = stripes(x, period * 0.85, duty, variant);
        break;
      case stripes_slanted:
        ink = stripes(x * std::cos(design_.pattern_angle) + y * std::sin(design_.pattern_angle),
                      period, duty, variant);
        break;
      case chest_band:
        ink = band(x, y);
        break;
      case chevrons:
        ink = stripes(y + period * (variant == 1 ? 1.0 : 0.55) * zigzag(x / (1.6 * period)), period,
                      duty, 0);
        break;
      case gingham:
        ink.second = 0.5 * (stripe(x, period * 0.7, 0.5) + stripe(y, period * 0.7, 0.5));
        break;
      case tartan:
        ink.second = 0.45 * (stripe(x, period * 1.5, duty) + stripe(y, period * 1.5, duty));
        ink.accent = std::max(stripe(x + period * 0.7, period * 1.5, 0.12),
                              stripe(y + period * 0.7, period * 1.5, 0.12));
        break;
      case window_panes:
        ink.second = std::max(stripe(x, period, 0.16), stripe(y, period * 1.2, 0.14));
        if (variant == 1) ink.accent = stripe(x + period / 2, period, 0.1);
        break;
      case dots:
      case rings:
        ink = spots(x, y);
        break;
      case diamonds: {
        const double u = x / (period * 1.1) + y / (period * 1.7);
        const double v = x / (period * 1.1) - y / (period * 1.7);
        const bool even =
            ((static_cast<int>(std::floor(u)) + static_cast<int>(std::floor(v))) & 1) == 0;
        ink.second = even ? 1 : 0;
        if (variant != 0) ink.accent = std::max(stripe(u + 0.5, 1, 0.09), stripe(v + 0.5, 1, 0.09));
        break;
      }
      case triangles: {
        const double row = y / period;
        const double offset = (static_cast<int>(std::floor(row)) & 1) == 0 ? 0 : 0.5;
        ink.second = edge((zigzag(x / period + offset) - 1 + fraction(row) - 0.12) * period);
        break;
      }
      case camouflage: {
        const double s = 1.1 / period;
        const double first =
            noise_(x * s + 3, y * s * 1.4) + 0.4 * noise_(x * 2.7 * s, y * 2.7 * s);
        const double other = noise_(x * s + 17, y * s * 1.4 + 9) + 0.4 * noise_(y * 2.7 * s, x * s);
        ink.second = edge((first - 0.75) * period);
        ink.accent = edge((other - 0.88) * period);
        break;
      }
      case dip_dye:
        ink.second = std::clamp((y / half_height_ + 0.3 - 0.4 * variant + 0.45) / 0.9, 0.0, 1.0);
        break;
      case block_across: {
        const double cut = half_height_ * (duty * 1.6 - 0.9);
        ink.second = edge(y - cut);
        if (variant == 1) ink.accent = edge(y - cut - half_height_ * 0.45);
        if (variant == 2) ink.accent = edge(0.05 - std::abs(y - cut));
        break;
      }
      case block_down:
        ink.second = variant == 0 ? edge(x) : edge(0.13 - std::abs(x));
        if (variant == 2) ink.accent = edge(0.03 - std::abs(std::abs(x) - 0.15));
        break;
      case block_slanted: {
        const double across = x * 0.9 * (design_.pattern_angle > 0 ? 1 : -1) + y;
        ink.second = edge(across);
        if (variant != 0) ink.accent = edge(0.07 - std::abs(across + 0.1));
        break;
      }
      default:
        break;
    }
    // The hand of the cloth: a little unevenness, so that plain is not flat.
    ink.relief += 14 * (noise_(x * 60 + 5, y * 60) - 0.5);
    return ink;
  }

 private:
  /// 1 inside (distance > 0), 0 outside, one texel of transition.
  [[nodiscard]] double edge(double distance) const {
    return std::clamp(0.5 + distance * texels_per_unit_, 0.0, 1.0);
  }
  [[nodiscard]] double stripe(double t, double period, double duty) const {
    return edge((duty / 2 - std::abs(fraction(t / period) - 0.5)) * period);
  }
  [[nodiscard]] Ink stripes(double t, double period, double duty, int variant) const {
    Ink ink;
    if (variant == 2) {
      const double at = fraction(t / period) - 0.5;
      ink.second = edge((0.11 - std::abs(std::abs(at) - 0.22)) * period);
      return ink;
    }
    ink.second = stripe(t, period, duty);
    if (variant == 1 && (static_cast<int>(std::floor(t / period)) & 1) == 0) {
      ink.accent = ink.second;
    }
    return ink;
  }
  [[nodiscard]] Ink spots(double x, double y) const {
    const double cell = design_.pattern_period * 0.8;
    const double row = std::floor(y / cell);
    const bool odd = (static_cast<int>(row) & 1) != 0;
    const double shifted = x / cell + (odd && design_.pattern_variant != 2 ? 0.5 : 0.0);
    const double distance = cell * std::hypot(fraction(shifted) - 0.5, fraction(y / cell) - 0.5);
    const double radius = cell * (0.18 + 0.26 * design_.pattern_duty);
    Ink ink;
    ink.second = design_.pattern == Pattern::rings
                     ? edge(cell * 0.1 - std::abs(distance - cell * 0.34))
                     : edge(radius - distance);
    if (design_.pattern_variant == 1 && odd) ink.accent = ink.second;
    return ink;
  }
  [[nodiscard]] Ink band(double x, double y) const {
    const double middle = half_height_ * (design_.pattern_duty - 0.75);
    const double from = std::abs(y - middle);
    Ink ink;
    ink.second = edge(0.13 - from);
    if (design_.pattern_variant == 1) {
      ink.second = std::max(ink.second, edge(0.05 - std::abs(from - 0.26)));
    }
    ink.accent = edge(0.025 - std::abs(from - 0.15));
    if (design_.pattern_variant == 2) {
      ink.accent = std::max(ink.accent, edge((zigzag(x / 0.16) * 0.1 - from)));
    }
    return ink;
  }

  const GarmentDesign& design_;
  Noise noise_;
  double texels_per_unit_;
  double half_height_;
  double phase_;
};

std::vector<cv::Point> to_texels(const Points& outline, Point centre, double scale, double turn) {
  std::vector<cv::Point> points;
  points.reserve(outline.size());
  for (const Point& p : outline) {
    const double x = centre.x + scale * (p.x * std::cos(turn) - p.y * std::sin(turn));
    const double y = centre.y + scale * (p.x * std::sin(turn) + p.y * std::cos(turn));
    points.push_back(fixed_point({x, y}));
  }
  return points;
}

/// Points of r(angle) around the origin.
template <class Radius>
Points round_shape(int count, Radius radius) {
  Points points;
  for (int i = 0; i < count; ++i) {
    const double angle = 2 * pi * i / count;
    const double r = radius(angle, i);
    points.emplace_back(r * std::sin(angle), -r * std::cos(angle));
  }
  return points;
}

Points star_shape() {
  return round_shape(10, [](double, int i) { return i % 2 == 0 ? 1.0 : 0.42; });
}

Points heart_shape() {
  Points points;
  for (int i = 0; i < 32; ++i) {
    const double t = 2 * pi * i / 32;
    const double s = std::sin(t);
    points.emplace_back(
        s * s * s,
        -(13 * std::cos(t) - 5 * std::cos(2 * t) - 2 * std::cos(3 * t) - std::cos(4 * t)) / 16);
  }
  return points;
}

Points leaf_shape() {
  Points points;
  for (int i = 0; i < 24; ++i) {
    const double t = 2 * pi * i / 24;
    points.emplace_back(0.42 * std::sin(t) * std::abs(std::sin(t / 2)), -std::cos(t));
  }
  return points;
}

/// Ink colours as the channels of Cloth::ink.
const cv::Scalar second_ink(255, 0, 128);
const cv::Scalar accent_ink(0, 255, 128);

void stamp(cv::Mat3b& ink, const Points& shape, Point centre, double scale, double turn,
           const cv::Scalar& colour) {
  cv::fillPoly(ink, std::vector{to_texels(shape, centre, scale, turn)}, colour, cv::LINE_AA,
               subpixel_bits);
}

/// Patterns of repeated figures, thrown on a jittered grid.
void scatter(cv::Mat3b& ink, const GarmentDesign& design, Random& random, double texels_per_unit) {
  const double cell = design.pattern_period * 1.15 * texels_per_unit;
  const auto petals = round_shape(40, [&design](double angle, int) {
    return 0.62 + 0.38 * std::cos((4 + design.pattern_variant) * angle);
  });
  const auto blob = round_shape(12, [](double, int i) { return i % 3 == 0 ? 0.8 : 1.0; });
  const auto disc = round_shape(24, [](double, int) { return 1.0; });
  int row = 0;
  for (double y = 0; y < ink.rows + cell; y += cell * 0.9, ++row) {
    for (double x = row % 2 == 0 ? 0 : cell / 2; x < ink.cols + cell; x += cell) {
      const double aside = cell * random.uniform(-0.16, 0.16);
      const double below = cell * random.uniform(-0.16, 0.16);
      const Point centre(x + aside, y + below);
      const double scale = cell * (0.3 + 0.14 * design.pattern_duty) * random.uniform(0.85, 1.15);
      const double turn = random.uniform(0, 2 * pi);
      const bool other = random.coin(0.4);
      switch (design.pattern) {
        case Pattern::flowers:
          stamp(ink, leaf_shape(), {centre.x + scale * 0.9, centre.y + scale * 0.7}, scale * 0.6,
                turn, accent_ink);
          stamp(ink, petals, centre, scale, turn, second_ink);
          stamp(ink, disc, centre, scale * 0.28, 0, accent_ink);
          break;
        case Pattern::leaves:
          stamp(ink, leaf_shape(), centre, scale * 1.25, turn, other ? accent_ink : second_ink);
          break;
        case Pattern::stars:
          if (design.pattern_variant == 1) {
            stamp(ink, heart_shape(), centre, scale * 0.85, 0, second_ink);
          } else {
            stamp(ink, star_shape(), centre, scale, turn, other ? accent_ink : second_ink);
          }
          break;
        default:  // leopard: dark rosettes around a lighter middle
          stamp(ink, blob, centre, scale * 0.95, turn, second_ink);
          stamp(ink, disc, {centre.x + scale * 0.15, centre.y - scale * 0.1}, scale * 0.48, 0,
                accent_ink);
          break;
      }
    }
  }
}

}  // namespace

Cloth weave(const GarmentDesign& design, Random random, int texels) {
  Cloth cloth;
  cloth.ink.create(texels, texels);
  cloth.texels_per_unit = texels / (2 * cloth_reach);
  const Weaver weaver(design, random, cloth.texels_per_unit);
  for (int row = 0; row < texels; ++row) {
    cv::Vec3b* const out = cloth.ink[row];
    const double y = (row + 0.5) / cloth.texels_per_unit - cloth_reach;
    for (int column = 0; column < texels; ++column) {
      const Ink ink = weaver.at((column + 0.5) / cloth.texels_per_unit - cloth_reach, y);
      out[column] = {to_byte(255 * ink.second), to_byte(255 * ink.accent), to_byte(ink.relief)};
    }
  }
  const bool scattered = design.pattern == Pattern::flowers || design.pattern == Pattern::leaves ||
                         design.pattern == Pattern::stars || design.pattern == Pattern::leopard;
  if (scattered) scatter(cloth.ink, design, random, cloth.texels_per_unit);
  return cloth;
}

void add_print(Cloth& cloth, const GarmentDesign& design) {
  const double unit = cloth.texels_per_unit;
  const double scale = design.print_size * unit;
  const Point centre(cloth.ink.cols / 2.0,
                     (design.print_y - (design.top() + design.bottom()) / 2 + cloth_reach) * unit);
  const auto disc = round_shape(40, [](double, int) { return 1.0; });
  const auto put = [&](const Points& shape, Point at, double size, const cv::Scalar& ink) {
    stamp(cloth.ink, shape, {centre.x + at.x * scale, centre.y + at.y * scale}, size * scale, 0,
          ink);
  };
  switch (design.print) {
    case Print::none:
      break;
    case Print::disc:
      put(disc, {0, 0}, 1, accent_ink);
      put(disc, {0, 0}, 0.55, second_ink);
      break;
    case Print::star:
      put(star_shape(), {0, 0}, 1.25, accent_ink);
      break;
    case Print::heart:
      put(heart_shape(), {0, 0}, 1.1, accent_ink);
      break;
    case Print::mountains:
      put(disc, {0.55, -0.6}, 0.35, second_ink);
      put({{-1.4, 0.9}, {-0.4, -0.7}, {0.3, 0.35}, {0.65, -0.1}, {1.4, 0.9}}, {0, 0}, 1,
          accent_ink);
      break;
    case Print::bars:
      for (int bar = 0; bar < 3; ++bar) {
        put({{-1.3, -0.17}, {1.3, -0.17}, {1.3, 0.17}, {-1.3, 0.17}}, {0, 0.62 * (bar - 1)}, 1,
            bar == 1 ? second_ink : accent_ink);
      }
      break;
    case Print::letter:
      put({Point{-1, -1.2}, Point{-0.55, -1.2}, Point{-0.55, -0.25}, Point{0.55, -0.25},
           Point{0.55, -1.2}, Point{1, -1.2}, Point{1, 1.2}, Point{0.55, 1.2}, Point{0.55, 0.2},
           Point{-0.55, 0.2}, Point{-0.55, 1.2}, Point{-1, 1.2}},
          {0, 0}, 0.9, accent_ink);
      break;
    case Print::sun:
      put(round_shape(32, [](double, int i) { return i % 2 == 0 ? 1.35 : 0.8; }), {0, 0}, 1,
          accent_ink);
      put(disc, {0, 0}, 0.55, second_ink);
      break;
    case Print::arrow:
      put({{-0.3, 1.2},
           {-0.3, -0.1},
           {-0.9, -0.1},
           {0, -1.2},
           {0.9, -0.1},
           {0.3, -0.1},
           {0.3, 1.2}},
          {0, 0}, 1, accent_ink);
      break;
  }
}

cv::Mat3b dye(const Cloth& cloth, const Colourway& colours) {
  const auto channels = [](const Colour& c) {
    return std::array<int, 3>{static_cast<int>(c.blue), static_cast<int>(c.green),
                              static_cast<int>(c.red)};
  };
  const auto base = channels(colours.base);
  const auto second = channels(colours.second);
  const auto accent = channels(colours.accent);
  cv::Mat3b pixels(cloth.ink.size());
  for (int row = 0; row < pixels.rows; ++row) {
    const cv::Vec3b* const ink = cloth.ink[row];
    cv::Vec3b* const out = pixels[row];
    for (int column = 0; column < pixels.cols; ++column) {
      const int s = ink[column][0] + (ink[column][0] >> 7);  // 0..256
      const int a = ink[column][1] + (ink[column][1] >> 7);
      const int light = ink[column][2];
      for (int c = 0; c < 3; ++c) {
        const auto k = static_cast<std::size_t>(c);
        int value = base[k] * (256 - s) + second[k] * s;  // 8 bits of fraction
        value = (value * (256 - a) >> 8) + accent[k] * a;
        out[column][c] = static_cast<std::uint8_t>(std::min((value * light) >> 15, 255));
      }
    }
  }
  return pixels;
}

}  // namespace seam::stages
