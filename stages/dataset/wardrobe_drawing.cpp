#include "stages/dataset/wardrobe_drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <opencv2/imgproc.hpp>
#include <seam/random.hpp>
#include <utility>
#include <vector>

namespace seam::stages {
namespace {

using Point = cv::Point2d;
using Points = std::vector<Point>;

constexpr int subpixel_bits = 4;

enum class View : std::uint8_t { front, side, back, full, flat, additional };
constexpr std::array<const char*, 6> view_names{"1_front", "2_side", "3_back",
                                                "4_full",  "6_flat", "7_additional"};

View kind_of(int view) {
  return static_cast<View>(view % static_cast<int>(view_names.size()));
}

cv::Scalar scalar(const Colour& c) {
  return {c.blue, c.green, c.red};
}

Colour scaled(const Colour& c, double factor) {
  return {std::min(c.red * factor, 255.0), std::min(c.green * factor, 255.0),
          std::min(c.blue * factor, 255.0)};
}

Colour mixed(const Colour& a, const Colour& b, double share) {
  return {a.red + (b.red - a.red) * share, a.green + (b.green - a.green) * share,
          a.blue + (b.blue - a.blue) * share};
}

double brightness(const Colour& c) {
  return 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue;
}

/// What thread or a seam looks like on a cloth: darker, or lighter where dark would not show.
Colour seam_colour(const Colour& cloth) {
  return brightness(cloth) > 60 ? scaled(cloth, 0.62) : mixed(cloth, {255, 255, 255}, 0.25);
}

Point along(const Point& a, const Point& b, double t) {
  return a + (b - a) * t;
}

Point mirrored(const Point& p) {
  return {-p.x, p.y};
}

/// A closed shape made of lines and Bezier curves.
class Outline {
 public:
  explicit Outline(Point start) : points_{start} {}
  Outline& line(Point to) {
    points_.push_back(to);
    return *this;
  }
  Outline& curve(Point first, Point second, Point to) {
    const Point from = points_.back();
    constexpr int steps = 10;
    for (int i = 1; i <= steps; ++i) {
      const double t = double(i) / steps;
      const double s = 1 - t;
      points_.push_back(from * (s * s * s) + first * (3 * s * s * t) + second * (3 * s * t * t) +
                        to * (t * t * t));
    }
    return *this;
  }
  Outline& follow(const Points& more) {
    points_.insert(points_.end(), more.begin(), more.end());
    return *this;
  }
  [[nodiscard]] const Points& points() const { return points_; }

 private:
  Points points_;
};

Points ellipse(Point centre, double rx, double ry) {
  Points points;
  for (int i = 0; i < 36; ++i) {
    const double t = 2 * std::numbers::pi * i / 36;
    points.emplace_back(centre.x + rx * std::cos(t), centre.y + ry * std::sin(t));
  }
  return points;
}

/// A tube around a line, with a half width at each of its points.
Points tube(const Points& line, const std::vector<double>& half_widths) {
  Points left;
  Points right;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const Point way = line[std::min(i + 1, line.size() - 1)] - line[i == 0 ? 0 : i - 1];
    const double length = std::max(std::hypot(way.x, way.y), 1e-9);
    const Point aside(-way.y / length * half_widths[i], way.x / length * half_widths[i]);
    left.push_back(line[i] + aside);
    right.push_back(line[i] - aside);
  }
  left.insert(left.end(), right.rbegin(), right.rend());
  return left;
}

/// Figure units to canvas pixels; a turned figure is narrower and its front moves aside.
struct Camera {
  double scale = 100;
  Point centre;  ///< on the canvas
  Point target;  ///< on the figure
  double narrowing = 1;
  double front_shift = 0;

  [[nodiscard]] Point operator()(const Point& p) const {
    const double bulge = std::max(0.0, 1 - (p.x / 0.4) * (p.x / 0.4));
    const double x = p.x * narrowing + front_shift * bulge;
    return {centre.x + (x - target.x) * scale, centre.y + (p.y - target.y) * scale};
  }
  [[nodiscard]] std::vector<cv::Point> fixed(const Points& points, Point offset) const {
    std::vector<cv::Point> out;
    out.reserve(points.size());
    for (const Point& p : points) {
      const Point q = (*this)(p)-offset;
      out.emplace_back(static_cast<int>(std::lround(q.x * (1 << subpixel_bits))),
                       static_cast<int>(std::lround(q.y * (1 << subpixel_bits))));
    }
    return out;
  }
};

/// Where a part takes its pixels from: a cloth laid over the figure, or one colour.
struct Fabric {
  const cv::Mat3b* pixels = nullptr;
  double texels_per_unit = 1;
  Point origin;     ///< the point of the figure where the cloth's middle lies
  double turn = 0;  ///< how the cloth is turned, radians
  Colour flat;
  bool folds = true;  ///< lies in folds, as cloth does and skin does not
};

/// Blurs a mask widely and cheaply: at a quarter of the size.
cv::Mat1b softened(const cv::Mat1b& mask, double sigma) {
  cv::Mat1b small;
  const cv::Size size(std::max(mask.cols / 4, 1), std::max(mask.rows / 4, 1));
  cv::resize(mask, small, size, 0, 0, cv::INTER_AREA);
  cv::GaussianBlur(small, small, {}, std::max(sigma / 4, 0.6), 0, cv::BORDER_CONSTANT);
  cv::Mat1b soft;
  cv::resize(small, soft, mask.size(), 0, 0, cv::INTER_LINEAR);
  return soft;
}

/// Paints parts of a figure over one another and keeps what they cover.
class Easel {
 public:
  Easel(int side, const Camera& camera, Point light)
      : camera_(camera),
        light_(light),
        colour_(side, side, cv::Vec3b(128, 128, 128)),
        cover_(side, side, std::uint8_t{0}),
        folds_(side, side, 1.0F) {}

  /// Soft ridges and furrows: each line has a half width and a height, in figure units.
  struct Fold {
    Points line;
    double width = 0.02;
    double height = 1;
  };
  void lay_folds(const std::vector<Fold>& folds) {
    const int half = colour_.cols / 2;
    cv::Mat1f height(half, half, 0.0F);
    for (const Fold& fold : folds) {
      std::vector<cv::Point> points;
      for (const Point& p : fold.line) {
        const Point q = camera_(p) * (0.5 * (1 << subpixel_bits));
        points.emplace_back(static_cast<int>(std::lround(q.x)), static_cast<int>(std::lround(q.y)));
      }
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

  /// `roundness`: how wide its edges curve away from the viewer, figure units.
  void fill(const Points& outline, const Fabric& fabric, double roundness) {
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

  /// A line on top of what is there; width in figure units.
  void stroke(const Points& line, const Colour& colour, double width, bool closed = false) {
    const int thickness = std::max(1, static_cast<int>(std::lround(width * camera_.scale)));
    cv::polylines(colour_, std::vector{camera_.fixed(line, {})}, closed, scalar(colour), thickness,
                  cv::LINE_AA, subpixel_bits);
  }
  /// Stitches: a broken line.
  void stitch(const Points& line, const Colour& colour) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      const Point way = line[i + 1] - line[i];
      const int count = std::max(1, static_cast<int>(std::hypot(way.x, way.y) / 0.035));
      for (int k = 0; k < count; ++k) {
        stroke({line[i] + way * (double(k) / count), line[i] + way * ((k + 0.55) / count)}, colour,
               0.006);
      }
    }
  }

  [[nodiscard]] const cv::Mat3b& colour() const { return colour_; }
  [[nodiscard]] const cv::Mat1b& cover() const { return cover_; }
  [[nodiscard]] const Camera& camera() const { return camera_; }

 private:
  [[nodiscard]] cv::Rect bounds(const Points& outline, int margin) const {
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

  /// The piece of cloth that lies over an area of the canvas.
  [[nodiscard]] cv::Mat3b cut(const Fabric& fabric, const cv::Rect& area) const {
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

  void shade_in(const cv::Rect& area, const cv::Mat1b& mask, const cv::Mat1b& soft,
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
        const float gx = static_cast<float>(row[std::min(x + step, area.width - 1)] -
                                            row[std::max(x - step, 0)]) *
                         per_step;
        const float gy = static_cast<float>(below[x] - above[x]) * per_step;
        float shade = 1 - 0.34F * (gx * light_x + gy * light_y) - 0.26F * (1 - near);
        if (fabric.folds) shade *= folds[x];
        const float share = static_cast<float>(inside[x]) / 255;
        for (int c = 0; c < 3; ++c) {
          const float ink =
              !has_cloth ? flat[static_cast<std::size_t>(c)] : static_cast<float>(thread[x][c]);
          // A little sheen, so that black cloth has folds too.
          const float lit = std::clamp(ink * shade + 26 * (shade - 1), 0.0F, 255.0F);
          const float under = static_cast<float>(out[x][c]);
          out[x][c] = static_cast<std::uint8_t>(under + (lit - under) * share);
        }
        cover[x] = std::max(cover[x], inside[x]);
      }
    }
  }

  Camera camera_;
  Point light_;
  cv::Mat3b colour_;
  cv::Mat1b cover_;
  cv::Mat1f folds_;
};

/// What one photograph has of its own.
struct Pose {
  View view = View::front;
  bool worn = true;
  double arm_left = 0.2;  ///< angle from hanging, radians
  double arm_right = 0.2;
  double elbow_left = 0;
  double elbow_right = 0;
  double stance = 0.02;  ///< how far the feet stand apart
  double hips = 0;       ///< weight on one leg: lower body moves aside
  Colour skin;
  Colour hair;
  Colour companion;  ///< the other garment that is worn
  [[nodiscard]] bool back() const { return view == View::back; }
};

Pose strike(Random& random, View view) {
  constexpr std::array<Colour, 6> skins{{{243, 212, 190},
                                         {228, 186, 156},
                                         {205, 158, 124},
                                         {166, 116, 84},
                                         {122, 82, 60},
                                         {88, 58, 44}}};
  constexpr std::array<Colour, 5> hairs{
      {{40, 30, 26}, {84, 54, 36}, {140, 92, 56}, {208, 170, 112}, {24, 22, 24}}};
  constexpr std::array<Colour, 6> companions{{{232, 232, 230},
                                              {44, 46, 54},
                                              {62, 82, 118},
                                              {150, 150, 152},
                                              {196, 178, 148},
                                              {24, 24, 26}}};
  Pose pose;
  pose.view = view;
  pose.worn = view != View::flat;
  const double spread = pose.worn ? 0.0 : 0.45;
  pose.arm_left = spread + random.uniform(0.06, 0.36);
  pose.arm_right = spread + random.uniform(0.06, 0.36);
  pose.elbow_left = random.uniform(-0.35, 0.15);
  pose.elbow_right = random.uniform(-0.35, 0.15);
  pose.stance = pose.worn ? random.uniform(0.0, 0.08) : random.uniform(0.02, 0.05);
  pose.hips = random.uniform(-0.025, 0.025);
  pose.skin = skins[random.index(skins.size())];
  pose.hair = hairs[random.index(hairs.size())];
  pose.companion = companions[random.index(companions.size())];
  return pose;
}

/// A point of an arm, `t` of the way to the wrist, for the arm at +x.
Point arm_point(double angle, double elbow, double t) {
  const Point shoulder(0.27, -0.655);
  constexpr double upper = 0.43;
  constexpr double fore = 0.40;
  const double length = t * (upper + fore);
  const Point d1(std::sin(angle), std::cos(angle));
  if (length <= upper) return shoulder + d1 * length;
  const Point d2(std::sin(angle + elbow), std::cos(angle + elbow));
  return shoulder + d1 * upper + d2 * (length - upper);
}

/// Dresses the figure: every part of one garment, from the back to the front.
class Dresser {
 public:
  Dresser(Easel& easel, const GarmentDesign& design, const Colourway& colours, const Pose& pose,
          const Fabric& plain, const Fabric& front)
      : easel_(easel),
        design_(design),
        colours_(colours),
        pose_(pose),
        cloth_(plain),
        front_(pose.back() ? plain : front),
        trim_(mixed(colours.base, colours.second, 0.85)),
        seam_(seam_colour(colours.base)) {}

  void dress(Random& random) {
    easel_.lay_folds(folds(random));
    if (pose_.worn) body();
    if (design_.is_upper()) {
      upper();
    } else if (design_.is_legged()) {
      legs_of_cloth();
    } else {
      skirt();
    }
  }

 private:
  [[nodiscard]] static Fabric solid(const Colour& colour, bool folds = true) {
    Fabric fabric;
    fabric.flat = colour;
    fabric.folds = folds;
    return fabric;
  }

  [[nodiscard]] Point arm(int side, double t) const {
    const Point p = side > 0 ? arm_point(pose_.arm_right, pose_.elbow_right, t)
                             : arm_point(pose_.arm_left, pose_.elbow_left, t);
    return side > 0 ? p : mirrored(p);
  }
  [[nodiscard]] Point leg(int side, double y) const {
    const double t = std::clamp((y - 0.1) / 1.3, 0.0, 1.0);
    return {side * (0.115 + pose_.stance * t) + pose_.hips * (1 - t), y};
  }

  // ------------------------------------------------------------------ body
  void body() {
    const Fabric skin = solid(pose_.skin, false);
    const Fabric hair = solid(pose_.hair, false);
    const bool upper = design_.is_upper();
    for (const int side : {-1, 1}) {
      easel_.fill(
          tube({leg(side, 0.05), leg(side, 0.45), leg(side, 0.85), leg(side, 1.0), leg(side, 1.36)},
               {0.12, 0.105, 0.066, 0.07, 0.042}),
          skin, 0.035);
      easel_.fill(ellipse(leg(side, 1.41) + Point(side * 0.015, 0), 0.06, 0.045),
                  solid(scaled(pose_.hair, 0.7), false), 0.02);
    }
    if (pose_.back()) {
      easel_.fill(tube({{0, -0.9}, {0, -0.7}}, {0.065, 0.09}), skin, 0.02);
    }
    easel_.fill(ellipse({0, -1.06}, 0.125, 0.16), hair, 0.03);
    if (!pose_.back()) {
      easel_.fill(tube({{0, -0.98}, {0, -0.84}, {0, -0.72}}, {0.06, 0.062, 0.12}), skin, 0.025);
      easel_.fill(ellipse({0, -1.04}, 0.092, 0.128), skin, 0.03);
      easel_.fill(Outline({-0.1, -1.05})
                      .curve({-0.1, -1.24}, {0.1, -1.24}, {0.1, -1.05})
                      .curve({0.06, -1.13}, {-0.02, -1.14}, {-0.1, -1.05})
                      .points(),
                  hair, 0.015);
    }
    const Outline trunk = Outline({-0.08, -0.77})
                              .curve({-0.2, -0.75}, {-0.28, -0.72}, {-0.29, -0.62})
                              .curve({-0.25, -0.4}, {-0.18, -0.25}, {-0.185, -0.1})
                              .curve({-0.25, 0.1}, {-0.24, 0.2}, {-0.2, 0.34})
                              .line({0.2, 0.34})
                              .curve({0.24, 0.2}, {0.25, 0.1}, {0.185, -0.1})
                              .curve({0.18, -0.25}, {0.25, -0.4}, {0.29, -0.62})
                              .curve({0.28, -0.72}, {0.2, -0.75}, {0.08, -0.77});
    easel_.fill(trunk.points(), skin, 0.05);
    const bool needs_legs = upper && design_.hem_y < 0.5;
    if (needs_legs) {
      for (const int side : {-1, 1}) {
        easel_.fill(tube({leg(side, -0.02), leg(side, 0.4), leg(side, 0.85), leg(side, 1.32)},
                         {0.125, 0.118, 0.08, 0.065}),
                    solid(pose_.companion), 0.035);
      }
    }
    if (!upper) {  // a plain vest above trousers and skirts
      easel_.fill(Outline({-0.13, -0.76})
                      .curve({-0.06, -0.62}, {0.06, -0.62}, {0.13, -0.76})
                      .line({0.2, -0.74})
                      .curve({0.2, -0.55}, {0.24, -0.5}, {0.262, -0.45})
                      .curve({0.2, -0.25}, {0.2, -0.1}, {0.23, 0.12})
                      .line({-0.23, 0.12})
                      .curve({-0.2, -0.1}, {-0.2, -0.25}, {-0.262, -0.45})
                      .curve({-0.24, -0.5}, {-0.2, -0.55}, {-0.2, -0.74})
                      .points(),
                  solid(pose_.companion), 0.05);
    }
    for (const int side : {-1, 1}) {
      easel_.fill(
          tube({arm(side, 0), arm(side, 0.25), arm(side, 0.5), arm(side, 0.75), arm(side, 1)},
               {0.062, 0.055, 0.045, 0.042, 0.03}),
          skin, 0.02);
      easel_.fill(ellipse(arm(side, 1.07), 0.034, 0.058), skin, 0.015);
    }
  }

  // ---------------------------------------------------------- upper garments
  [[nodiscard]] Points neck_curve() const {
    const double w = design_.neck_width;
    const double y = -0.805;
    const double depth = pose_.back() ? 0.035 : design_.neck_depth;
    Outline curve({-w, y});
    const Neckline shape = pose_.back() ? Neckline::crew : design_.neckline;
    switch (shape) {
      case Neckline::vee:
        curve.curve({-w * 0.8, y + depth * 0.35}, {-w * 0.3, y + depth * 0.8}, {0, y + depth});
        curve.curve({w * 0.3, y + depth * 0.8}, {w * 0.8, y + depth * 0.35}, {w, y});
        break;
      case Neckline::square:
        curve.line({-w * 0.92, y + depth}).line({w * 0.92, y + depth}).line({w, y});
        break;
      default:
        curve.curve({-w * 0.85, y + depth * 1.33}, {w * 0.85, y + depth * 1.33}, {w, y});
        break;
    }
    return curve.points();
  }

  [[nodiscard]] Points hem_line(double half_width, double y) const {
    Points points;
    constexpr int steps = 28;
    for (int i = 0; i <= steps; ++i) {
      const double u = 1 - 2.0 * i / steps;  // from +x to -x
      double below = 0.03 * (1 - u * u);
      switch (design_.hem) {
        case Hem::straight:
          break;
        case Hem::curved:
          below += 0.08 * (1 - u * u) - 0.05;
          break;
        case Hem::high_low:
          below += 0.11 * u;
          break;
        case Hem::peplum:
          below += 0.05 * std::cos(9 * u);
          break;
      }
      below += design_.hem_wave * std::sin(17 * u + 1);
      points.emplace_back(u * half_width + pose_.hips, y + below);
    }
    return points;
  }

  [[nodiscard]] Point shoulder() const {
    return design_.sleeve_length > 0 ? Point(design_.shoulder, -0.715)
                                     : Point(std::min(design_.neck_width + 0.09, 0.27), -0.755);
  }

  /// Pulls the lower part of a side seam to where the hem, slanted or curved, really ends.
  void meet_hem(Point& p, const Point& end) const {
    const double from = std::min(design_.waist_y, design_.hem_y - 0.12);
    const double t = std::clamp((p.y - from) / (design_.hem_y - from), 0.0, 1.0);
    p.y += t * (end.y - design_.hem_y);
    p.x += t * pose_.hips;
  }

  [[nodiscard]] Points torso() const {
    const Point tip = shoulder();
    const Point pit(design_.chest, -0.46);
    const Point waist(design_.waist, design_.waist_y);
    const double hem = design_.hem_width;
    Outline outline(neck_curve().front());
    outline.follow(neck_curve());
    outline.curve(along(outline.points().back(), tip, 0.4),
                  along(outline.points().back(), tip, 0.8) + Point(0, -0.012), tip);
    if (design_.sleeve_length > 0) {
      outline.curve(tip + Point(0.005, 0.08), pit + Point(-0.01, -0.1), pit);
    } else {
      outline.curve(tip + Point(-0.05, 0.14), pit + Point(-0.07, -0.03), pit);
    }
    const double drop = design_.hem_y - waist.y;
    if (drop > 0.15) {
      outline.curve(pit + Point(-0.01, 0.12), waist + Point(0, -0.12), waist);
      const double hip = std::max(hem * 0.75, 0.24);
      outline.curve(waist + Point(0.005, std::min(drop * 0.25, 0.1)),
                    {std::min(hip, hem + 0.02), waist.y + drop * 0.45}, {hem, design_.hem_y});
    } else {
      outline.curve(pit + Point(-0.01, 0.1), {hem, design_.hem_y - 0.1}, {hem, design_.hem_y});
    }
    // The other half: the same way back, mirrored, from hem to shoulder.
    const Points hem_points = hem_line(hem, design_.hem_y);
    Points all = outline.points();
    const std::size_t neck = neck_curve().size() + 1;
    for (std::size_t i = all.size(); i > neck; --i) all.push_back(mirrored(all[i - 1]));
    const std::size_t half = all.size() - (all.size() - neck) / 2;
    for (std::size_t i = neck; i < all.size(); ++i) {
      meet_hem(all[i], i < half ? hem_points.front() : hem_points.back());
    }
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(half), hem_points.begin(),
               hem_points.end());
    return all;
  }

  void upper() {
    const Fabric inner = solid(scaled(colours_.base, 0.55));
    const double w = design_.neck_width;
    if (design_.hood) hood_behind();
    if (!pose_.back() && !design_.hood) {  // the inside of the back, seen through the neck
      easel_.fill(Outline({-w, -0.815})
                      .curve({-w * 0.5, -0.845}, {w * 0.5, -0.845}, {w, -0.815})
                      .curve({w * 0.6, -0.75}, {-w * 0.6, -0.75}, {-w, -0.815})
                      .points(),
                  inner, 0.01);
      if (!pose_.worn) easel_.fill(neck_curve(), inner, 0.01);
      if (pose_.worn) {
        easel_.fill(
            tube({{0, -0.93}, {0, -0.84}, {0, -0.74}, {0, -0.66}}, {0.058, 0.06, 0.085, 0.07}),
            solid(pose_.skin, false), 0.02);
      }
    }
    if (design_.sleeve_length > 0 && !pose_.worn) sleeves();
    if (design_.opening > 0 && !pose_.back()) {
      easel_.fill(Outline({-0.16, -0.79})
                      .line({0.16, -0.79})
                      .line({0.2, std::min(design_.hem_y - 0.03, 0.22)})
                      .line({-0.2, std::min(design_.hem_y - 0.03, 0.22)})
                      .points(),
                  solid(pose_.companion), 0.03);
      open_fronts();
    } else {
      easel_.fill(torso(), front_, 0.055);
    }
    skirt_details(design_.waist_y, design_.waist);
    if (!pose_.back()) front_details();
    hem_trim();
    if (design_.sleeve_length > 0 && pose_.worn) sleeves();
    if (design_.sleeve_length <= 0) armhole_trim();
    collar();
  }

  void open_fronts() {
    const Points whole = torso();
    for (const int side : {-1, 1}) {
      // Cut the torso along a line from the neck to the hem, off the middle.
      Points half;
      for (const Point& p : whole) {
        const double t = std::clamp((p.y + 0.8) / (design_.hem_y + 0.8), 0.0, 1.0);
        const double cut = design_.opening * (0.35 + 0.65 * t) + 0.012;
        half.emplace_back(side > 0 ? std::max(p.x, cut) : std::min(p.x, -cut), p.y);
      }
      easel_.fill(half, front_, 0.05);
    }
  }

  void sleeves() {
    for (const int side : {-1, 1}) {
      const double longest = 0.06 + design_.sleeve_length * 0.94;
      const auto width = [this](double t) {
        const double grown =
            design_.sleeve_length > 0.5 && design_.cuff_width > design_.sleeve_width ? t * t : t;
        return (design_.sleeve_width + (design_.cuff_width - design_.sleeve_width) * grown) * 0.78;
      };
      Points middle;
      std::vector<double> widths;
      constexpr int steps = 8;
      for (int i = 0; i <= steps; ++i) {
        const double t = double(i) / steps;
        middle.push_back(arm(side, std::max(0.1, 0.02 + t * longest)));
        widths.push_back(width(t));
      }
      middle.front() = arm(side, 0.02);
      const Points outline_of_tube = tube(middle, widths);
      // tube() runs down one side and back on the other; join both to the shoulder and the armpit.
      const Point tip(side * (design_.shoulder - 0.015), -0.722);
      const Point pit(side * (design_.chest - 0.035), -0.45);
      Points outline(outline_of_tube.begin() + 1, outline_of_tube.end() - 1);
      const bool outer_last =
          side > 0 ? outline.back().x > outline.front().x : outline.back().x < outline.front().x;
      if (outer_last) std::reverse(outline.begin(), outline.end());
      Outline sleeve(tip);
      sleeve.curve(tip + Point(side * 0.045, 0.02), outline.front() + Point(0, -0.05),
                   outline.front());
      sleeve.follow(outline);
      sleeve.line(pit);
      sleeve.curve(pit + Point(-side * 0.01, -0.1), tip + Point(-side * 0.012, 0.1), tip);
      Fabric fabric = cloth_;
      if (design_.contrast_sleeves) fabric = solid(trim_);
      const Point start = arm(side, 0);
      const Point way = arm(side, 0.5) - start;
      fabric.turn = std::atan2(-way.x, way.y);
      fabric.origin = start + way * 0.5;
      easel_.fill(sleeve.points(), fabric, 0.035);
      easel_.stroke(
          Outline(tip)
              .curve(tip + Point(-side * 0.012, 0.1), pit + Point(-side * 0.01, -0.1), pit)
              .points(),
          seam_, 0.006);
      cuff(side, middle, widths);
    }
  }

  void cuff(int side, const Points& middle, const std::vector<double>& widths) {
    const std::size_t last = middle.size() - 1;
    const Point way = middle[last] - middle[last - 1];
    const double length = std::max(std::hypot(way.x, way.y), 1e-6);
    const Point unit = way * (1 / length);
    const Point aside(-unit.y, unit.x);
    const double w = widths[last];
    if (design_.sleeve_bands) {
      const double deep = design_.sleeve_length > 0.6 ? 0.06 : 0.032;
      easel_.fill(
          tube({middle[last] - unit * deep, middle[last] + unit * 0.008}, {w * 0.98, w * 0.96}),
          solid(trim_), 0.02);
    } else {
      const Point at = middle[last] - unit * 0.03;
      easel_.stroke({at + aside * w, at - aside * w}, seam_, 0.006);
    }
    if (pose_.worn && design_.sleeve_length > 0.8) {
      easel_.fill(ellipse(arm(side, 1.09), 0.033, 0.05), solid(pose_.skin, false), 0.015);
    }
  }

  void armhole_trim() {
    const Point tip = shoulder();
    const Point pit(design_.chest, -0.46);
    for (const int side : {-1, 1}) {
      Points line =
          Outline(tip).curve(tip + Point(-0.05, 0.14), pit + Point(-0.07, -0.03), pit).points();
      for (Point& p : line) p.x *= side;
      easel_.stroke(line, design_.sleeve_bands ? trim_ : seam_,
                    design_.sleeve_bands ? 0.022 : 0.009);
    }
  }

  void hem_trim() {
    const double up = design_.hem_band ? 0.035 : 0.028;
    Points line = hem_line(design_.hem_width * 0.985, design_.hem_y - up);
    if (design_.opening > 0 && !pose_.back()) return;
    if (design_.hem_band) {
      Points band = line;
      const Points lower = hem_line(design_.hem_width * 0.99, design_.hem_y + 0.004);
      band.insert(band.end(), lower.rbegin(), lower.rend());
      easel_.fill(band, solid(trim_), 0.02);
    } else {
      easel_.stroke(line, seam_, 0.005);
    }
  }

  /// Pleats, seams across and a belt, for dresses and skirts.
  void skirt_details(double top, double top_width) {
    const double length = design_.hem_y - top;
    for (int tier = 1; tier <= design_.tiers; ++tier) {
      const double t = double(tier) / (design_.tiers + 1);
      const double w = top_width + (design_.hem_width - top_width) * t;
      Points line;
      for (int i = 0; i <= 24; ++i) {
        const double u = 1 - 2.0 * i / 24;
        line.emplace_back(u * w * 0.97 + pose_.hips * t,
                          top + length * t + 0.03 * (1 - u * u) + 0.006 * std::sin(40 * u));
      }
      easel_.stroke(line, seam_, 0.014);
    }
    if (design_.belt) {
      const double w = top_width + 0.004;
      easel_.fill(
          Outline({-w, top - 0.028})
              .curve({-w * 0.4, top - 0.014}, {w * 0.4, top - 0.014}, {w, top - 0.028})
              .line({w + 0.004, top + 0.026})
              .curve({w * 0.4, top + 0.042}, {-w * 0.4, top + 0.042}, {-w - 0.004, top + 0.026})
              .points(),
          solid(colours_.accent), 0.012);
      if (!pose_.back()) {
        const Colour metal{214, 196, 130};
        easel_.stroke(
            {{-0.03, top - 0.02}, {0.03, top - 0.02}, {0.03, top + 0.036}, {-0.03, top + 0.036}},
            metal, 0.012, true);
      }
    }
  }

  void button(Point at) {
    const Colour disc =
        brightness(colours_.base) > 120 ? Colour{70, 62, 56} : Colour{236, 230, 214};
    easel_.fill(ellipse(at, 0.0155, 0.0155), solid(disc, false), 0.006);
  }

  void front_details() {
    const double neck = -0.805 + design_.neck_depth;
    const double bottom = design_.hem_y - 0.02;
    const double opening = design_.opening;
    switch (design_.closure) {
      case Closure::none:
        break;
      case Closure::half_placket: {
        const double end = neck + 0.26;
        easel_.stroke({{-0.022, neck}, {-0.022, end}, {0.022, end}, {0.022, neck}}, seam_, 0.006);
        for (int i = 0; i < 3; ++i) button({0, neck + 0.05 + 0.085 * i});
        break;
      }
      case Closure::buttons: {
        if (opening <= 0) {
          easel_.stroke({{-0.026, neck}, {-0.026, bottom}}, seam_, 0.006);
          easel_.stroke({{0.026, neck}, {0.026, bottom}}, seam_, 0.006);
        }
        for (int i = 0; i < design_.buttons; ++i) {
          button({-opening, neck + 0.04 + (bottom - neck - 0.08) * (i + 0.3) / design_.buttons});
        }
        break;
      }
      case Closure::double_breasted:
        easel_.stroke({{0.07, neck}, {0.09, bottom}}, seam_, 0.007);
        for (int i = 0; i < 3; ++i) {
          for (const double x : {-0.075, 0.055}) {
            button({x + (x < 0 ? -opening : opening), neck + 0.06 + 0.13 * i});
          }
        }
        break;
      case Closure::zip:
        if (opening <= 0) {
          easel_.stroke({{0, neck}, {0, bottom}}, seam_, 0.02);
          easel_.stroke({{0, neck}, {0, bottom}}, {196, 196, 200}, 0.007);
          easel_.fill(ellipse({0, neck + 0.05}, 0.011, 0.025), solid({206, 206, 210}, false),
                      0.005);
        }
        break;
    }
    pockets();
  }

  void patch_pocket(Point at, double w, double h) {
    easel_.stroke({at + Point(-w, -h), at + Point(-w, h * 0.7), at + Point(0, h),
                   at + Point(w, h * 0.7), at + Point(w, -h)},
                  seam_, 0.008, true);
    easel_.stroke({at + Point(-w, -h * 0.68), at + Point(w, -h * 0.68)}, seam_, 0.005);
  }

  void pockets() {
    switch (design_.pockets) {
      case Pockets::none:
        break;
      case Pockets::one_chest:
        patch_pocket({0.13, -0.4}, 0.055, 0.065);
        break;
      case Pockets::two_chest:
        patch_pocket({0.14, -0.4}, 0.055, 0.065);
        patch_pocket({-0.14, -0.4}, 0.055, 0.065);
        break;
      case Pockets::kangaroo: {
        const double y = design_.hem_y - 0.06;
        easel_.fill(Outline({-0.17, y})
                        .line({-0.17, y - 0.08})
                        .curve({-0.15, y - 0.12}, {-0.11, y - 0.17}, {-0.1, y - 0.19})
                        .line({0.1, y - 0.19})
                        .curve({0.11, y - 0.17}, {0.15, y - 0.12}, {0.17, y - 0.08})
                        .line({0.17, y})
                        .points(),
                    front_, 0.015);
        break;
      }
      case Pockets::slanted:
        for (const int side : {-1, 1}) {
          easel_.stroke({{side * 0.12, -0.04}, {side * 0.19, 0.09}}, seam_, 0.012);
        }
        break;
      case Pockets::patch:
        for (const int side : {-1, 1}) patch_pocket({side * 0.16, 0.04}, 0.075, 0.075);
        break;
    }
  }

  void hood_behind() {
    easel_.fill(Outline({-0.2, -0.76})
                    .curve({-0.23, -0.98}, {-0.08, -1.0}, {0, -0.99})
                    .curve({0.08, -1.0}, {0.23, -0.98}, {0.2, -0.76})
                    .curve({0.1, -0.66}, {-0.1, -0.66}, {-0.2, -0.76})
                    .points(),
                cloth_, 0.04);
    if (pose_.back()) return;
    easel_.fill(ellipse({0, -0.83}, 0.125, 0.1), solid(scaled(colours_.base, 0.5)), 0.02);
    if (pose_.worn) {
      easel_.fill(tube({{0, -0.98}, {0, -0.84}, {0, -0.7}}, {0.058, 0.06, 0.09}),
                  solid(pose_.skin, false), 0.02);
      easel_.fill(ellipse({0, -1.03}, 0.09, 0.12), solid(pose_.skin, false), 0.03);
      easel_.fill(Outline({-0.1, -1.05})
                      .curve({-0.1, -1.24}, {0.1, -1.24}, {0.1, -1.05})
                      .curve({0.06, -1.13}, {-0.02, -1.14}, {-0.1, -1.05})
                      .points(),
                  solid(pose_.hair, false), 0.015);
    }
  }

  void collar() {
    const double w = design_.neck_width;
    const double low = -0.805 + design_.neck_depth;
    if (design_.hood) {
      if (pose_.back()) {
        hood_behind();
        return;
      }
      for (const int side : {-1, 1}) {  // the hood's edges meet under the chin, with cords
        easel_.fill(tube({{side * 0.155, -0.84}, {side * 0.11, -0.76}, {side * 0.015, low + 0.01}},
                         {0.035, 0.038, 0.03}),
                    cloth_, 0.02);
        easel_.stroke(
            {{side * 0.045, low - 0.01}, {side * 0.05, low + 0.1}, {side * 0.042, low + 0.2}},
            colours_.accent, 0.012);
      }
      return;
    }
    switch (design_.collar) {
      case Collar::none:
        easel_.stroke(neck_curve(), seam_, 0.01);
        break;
      case Collar::rib:
        easel_.stroke(neck_curve(), trim_, 0.03);
        break;
      case Collar::turtle:
        easel_.fill(Outline({-w - 0.005, -0.775})
                        .curve({-w + 0.02, -0.86}, {-w + 0.02, -0.9}, {-w + 0.015, -0.94})
                        .curve({-0.03, -0.92}, {0.03, -0.92}, {w - 0.015, -0.94})
                        .curve({w - 0.02, -0.9}, {w - 0.02, -0.86}, {w + 0.005, -0.775})
                        .curve({0.04, -0.73}, {-0.04, -0.73}, {-w - 0.005, -0.775})
                        .points(),
                    cloth_, 0.025);
        easel_.stroke(
            Outline({-w, -0.85}).curve({-0.03, -0.825}, {0.03, -0.825}, {w, -0.85}).points(), seam_,
            0.006);
        break;
      case Collar::stand:
        for (const int side : {-1, 1}) {
          easel_.fill(
              Outline({side * (w + 0.01), -0.79})
                  .line({side * (w - 0.005), -0.87})
                  .curve({side * 0.08, -0.85}, {side * 0.04, low - 0.04},
                         {side * 0.008, low - 0.05})
                  .line({side * 0.008, low + 0.01})
                  .curve({side * 0.05, low}, {side * 0.1, -0.75}, {side * (w + 0.01), -0.79})
                  .points(),
              cloth_, 0.012);
        }
        break;
      case Collar::shirt:
        if (pose_.back()) {
          easel_.fill(Outline({-w - 0.02, -0.78})
                          .curve({-0.07, -0.9}, {0.07, -0.9}, {w + 0.02, -0.78})
                          .curve({0.06, -0.73}, {-0.06, -0.73}, {-w - 0.02, -0.78})
                          .points(),
                      cloth_, 0.015);
          break;
        }
        for (const int side : {-1, 1}) {
          easel_.fill(
              Outline({side * (w - 0.01), -0.865})
                  .curve({side * 0.08, -0.82}, {side * 0.04, low - 0.03}, {side * 0.004, low})
                  .line({side * 0.075, low + 0.085})
                  .line({side * (w + 0.045), -0.765})
                  .points(),
              cloth_, 0.012);
          easel_.stroke(
              {{side * 0.004, low}, {side * 0.075, low + 0.085}, {side * (w + 0.045), -0.765}},
              seam_, 0.006);
        }
        break;
      case Collar::lapels:
        if (pose_.back()) {
          easel_.stroke(neck_curve(), seam_, 0.03);
          break;
        }
        for (const int side : {-1, 1}) {
          const double gap = design_.opening;
          easel_.fill(Outline({side * (w - 0.01), -0.85})
                          .line({side * (w + 0.055), -0.76})
                          .line({side * (w + 0.085), low - 0.2})
                          .line({side * (w + 0.045), low - 0.21})
                          .line({side * (w + 0.075), low - 0.13})
                          .curve({side * 0.11, low - 0.03}, {side * 0.05, low + 0.03},
                                 {side * (0.004 + gap), low + 0.05})
                          .curve({side * (0.03 + gap), low - 0.1}, {side * 0.08, -0.75},
                                 {side * (w - 0.01), -0.85})
                          .points(),
                      cloth_, 0.014);
        }
        break;
    }
  }

  // ------------------------------------------------------------------- skirts
  void skirt() {
    const double top = design_.waist_y;
    const double w = design_.waist;
    const double hem = design_.hem_width;
    const double length = design_.hem_y - top;
    Outline outline({-w, top});
    outline.curve({-w * 0.4, top + 0.025}, {w * 0.4, top + 0.025}, {w, top});
    const Points lower = hem_line(hem, design_.hem_y);
    const Point hip(std::max(hem * 0.8, 0.25), top + std::min(0.3, length * 0.5));
    outline.curve({w + 0.02, top + 0.08}, hip, lower.front());
    outline.follow(lower);
    outline.curve(mirrored(hip), {-w - 0.02, top + 0.08}, {-w, top});
    easel_.fill(outline.points(), front_, 0.055);
    skirt_details(top + 0.03, w + 0.005);
    if (!pose_.back()) {
      if (design_.closure == Closure::buttons) {
        easel_.stroke({{0.028, top + 0.05}, {0.028, design_.hem_y}}, seam_, 0.006);
        for (int i = 0; i < design_.buttons; ++i) {
          button({0, top + 0.08 + (length - 0.1) * (i + 0.2) / design_.buttons});
        }
      }
      if (design_.pockets == Pockets::slanted) pockets();
    }
    hem_trim();
    waistband();
  }

  void waistband() {
    const double top = design_.waist_y;
    const double w = design_.waist + 0.003;
    easel_.fill(Outline({-w, top - 0.012})
                    .curve({-w * 0.4, top + 0.012}, {w * 0.4, top + 0.012}, {w, top - 0.012})
                    .line({w + 0.008, top + 0.045})
                    .curve({w * 0.4, top + 0.07}, {-w * 0.4, top + 0.07}, {-w - 0.008, top + 0.045})
                    .points(),
                design_.belt ? solid(colours_.accent) : front_, 0.012);
    if (!pose_.back() && design_.is_legged()) button({0, top + 0.034});
  }

  // ----------------------------------------------------------------- trousers
  void legs_of_cloth() {
    const double top = design_.waist_y;
    const double w = design_.waist;
    const double end = design_.bottom();
    const double crotch = 0.37;
    const bool is_short = design_.kind == GarmentKind::shorts;
    const double knee_y = is_short ? (crotch + end) / 2 : std::min(0.85, end - 0.1);
    for (const int side : {-1, 1}) {
      const Point knee = leg(side, knee_y);
      const Point foot = leg(side, end);
      const double kw = design_.knee_width;
      const double aw = design_.ankle_width;
      const Point out(side, 0);
      // Wide legs stop at the middle of the body, or shorts would look like a skirt.
      const double kin = std::min(kw, std::abs(knee.x) - 0.012);
      const double ain = std::min(aw, std::abs(foot.x) - 0.016);
      Outline outline({-side * 0.004, top + 0.02});
      outline.line({side * w, top});
      outline.curve(Point(side * (w + 0.04), top + 0.12), Point(side * 0.265, 0.1),
                    {side * 0.262, 0.24});
      outline.curve(Point(side * 0.26, 0.4), knee + out * kw + Point(0, -0.18), knee + out * kw);
      outline.curve(knee + out * kw + Point(0, (end - knee_y) * 0.4),
                    foot + out * aw + Point(0, -(end - knee_y) * 0.3), foot + out * aw);
      outline.curve(foot + out * (aw * 0.4) + Point(0, 0.02),
                    foot - out * (ain * 0.4) + Point(0, 0.02), foot - out * ain);
      outline.curve(foot - out * ain + Point(0, -(end - knee_y) * 0.3),
                    knee - out * kin + Point(0, (end - knee_y) * 0.4), knee - out * kin);
      outline.curve(knee - out * kin + Point(0, std::max(-0.15, 0.6 * (crotch - knee_y))),
                    {side * 0.012, crotch + std::min(0.12, 0.3 * (knee_y - crotch))},
                    {-side * 0.004, crotch});
      easel_.fill(outline.points(), front_, 0.045);
      if (design_.hem_band) {
        const Point middle = foot + out * ((aw - ain) / 2);
        const double half = (aw + ain) / 2;
        easel_.fill(
            tube({middle + Point(0, -0.05), middle + Point(0, 0.012)}, {half * 1.02, half * 1.03}),
            solid(trim_), 0.02);
      } else {
        easel_.stroke({foot + out * aw + Point(0, -0.03), foot - out * ain + Point(0, -0.03)},
                      seam_, 0.006);
      }
      if (design_.contrast_sleeves) {
        Points stripe;
        for (int i = 0; i <= 10; ++i) {
          const double t = i / 10.0;
          const Point p =
              t < 0.4 ? along({side * 0.235, 0.0}, {side * 0.235, 0.3}, t / 0.4)
                      : along({side * 0.235, 0.3}, foot + out * (aw * 0.8), (t - 0.4) / 0.6);
          stripe.push_back(p);
        }
        easel_.stroke(stripe, colours_.accent, 0.028);
      }
      if (design_.top_stitching) {
        easel_.stitch({{side * (w + 0.015), top + 0.1},
                       {side * 0.235, 0.24},
                       knee + out * (kw * 0.82),
                       foot + out * (aw * 0.85)},
                      mixed(colours_.base, colours_.second, 0.7));
      }
    }
    if (!pose_.back()) {
      easel_.stroke(
          Outline({0.045, top + 0.06}).curve({0.045, 0.1}, {0.04, 0.17}, {0.003, 0.2}).points(),
          seam_, 0.006);
      for (const int side : {-1, 1}) {
        if (design_.pockets == Pockets::slanted) {
          easel_.stroke({{side * 0.13, top + 0.06}, {side * 0.225, top + 0.2}}, seam_, 0.01);
        } else if (design_.pockets == Pockets::patch) {
          patch_pocket({side * 0.2, 0.5 * (0.3 + std::min(end, 0.9))}, 0.06, 0.075);
        }
      }
    } else {
      for (const int side : {-1, 1}) patch_pocket({side * 0.12, 0.14}, 0.065, 0.065);
    }
    easel_.stroke({{0, top + 0.06}, {0, crotch}}, seam_, 0.007);
    waistband();
  }

  // -------------------------------------------------------------------- folds
  [[nodiscard]] std::vector<Easel::Fold> folds(Random& random) const {
    std::vector<Easel::Fold> out;
    const auto add = [&](Point a, Point b, double width, double height) {
      const double bend = random.uniform(-0.03, 0.03);
      const Point middle = (a + b) * 0.5 + Point(bend, bend * 0.5);
      out.push_back({{a, along(a, middle, 0.6), along(middle, b, 0.4), b}, width, height});
    };
    const auto either = [&] { return random.coin(0.5) ? 1.0 : -1.0; };
    if (design_.is_upper()) {
      for (const int side : {-1, 1}) {
        for (int i = 0; i < 3; ++i) {  // pulled from the armpit across the body
          const double reach = random.uniform(0.05, 0.18);
          const double fall = random.uniform(0.1, 0.35);
          add({side * (design_.chest - 0.02), -0.47 + 0.04 * i}, {side * reach, -0.45 + fall}, 0.02,
              0.8 * either());
        }
        for (int i = 0; i < 3; ++i) {  // across the elbow
          const double t = 0.42 + 0.06 * i;
          const Point at = arm(side, t);
          add(at + Point(-0.08, -0.02), at + Point(0.08, 0.03), 0.014, 0.9 * either());
        }
        for (int i = 0; i < 2; ++i) {  // gathered at the waist
          const double y = design_.waist_y + random.uniform(-0.1, 0.08);
          const double reach = random.uniform(0.03, 0.13);
          add({side * design_.waist, y}, {side * reach, y + 0.03}, 0.014, 0.8 * either());
        }
      }
    }
    const bool hangs = design_.kind == GarmentKind::dress || design_.kind == GarmentKind::skirt ||
                       (design_.is_upper() && design_.hem_y > 0.3);
    if (hangs) {
      const double length = design_.hem_y - design_.waist_y;
      const int count = design_.pleats > 0 ? design_.pleats : 4;
      for (int i = 0; i <= count; ++i) {
        double u = -0.95 + 1.9 * i / count;
        if (design_.pleats == 0) u += random.uniform(-0.12, 0.12);
        const double from = design_.pleats > 0 ? 0.06 : random.uniform(0.1, 0.5) * length;
        const double wide = design_.waist + (design_.hem_width - design_.waist) * 1.0;
        add({u * (design_.waist + (wide - design_.waist) * from / length), design_.waist_y + from},
            {u * wide, design_.hem_y + 0.05}, design_.pleats > 0 ? 0.016 : 0.03,
            design_.pleats > 0 ? 1.5 : 0.9 * either());
      }
    }
    if (design_.is_legged()) {
      for (const int side : {-1, 1}) {
        for (int i = 0; i < 3; ++i) {
          const double fall = random.uniform(0.02, 0.14);
          add({side * 0.01, 0.35 + 0.03 * i}, {side * 0.2, 0.28 + fall + 0.05 * i}, 0.014,
              0.8 * either());
        }
        for (int i = 0; i < 3; ++i) {
          const double y = 0.8 + random.uniform(-0.05, 0.12);
          const Point at = leg(side, y);
          add(at + Point(-0.1, 0), at + Point(0.1, 0.03), 0.014, 0.7 * either());
        }
        add(leg(side, 0.3), leg(side, 1.35), 0.02, 0.7);
        const Point at = leg(side, design_.bottom() - 0.06);
        add(at + Point(-0.1, 0), at + Point(0.1, 0.02), 0.014, 0.8 * either());
      }
    }
    return out;
  }

  Easel& easel_;
  const GarmentDesign& design_;
  const Colourway& colours_;
  const Pose& pose_;
  Fabric cloth_;
  Fabric front_;
  Colour trim_;
  Colour seam_;
};

Camera frame(const GarmentDesign& design, Random& random, View view, int canvas) {
  Camera camera;
  double top = design.top();
  double bottom = design.bottom();
  double share = random.uniform(0.74, 0.84);  // of the canvas that the garment fills
  if (view == View::full) share = random.uniform(0.62, 0.70);
  if (view == View::additional) share = random.uniform(0.84, 0.94);
  const double reach =
      design.is_upper() ? 0.30 + 0.55 * design.sleeve_length * 0.7 : design.hem_width;
  const double wide =
      2 * std::max({reach, design.hem_width * (design.is_legged() ? 0.0 : 1.0), 0.33});
  const double height = std::max({bottom - top, wide * 0.95, 0.75});
  camera.scale = canvas * share / height;
  camera.target = {0, (top + bottom) / 2};
  const double aside = random.uniform(-0.05, 0.05);
  const double below = random.uniform(-0.035, 0.035);
  camera.centre = {canvas * (0.5 + aside), canvas * (0.5 + below)};
  const double left = random.coin(0.5) ? 1 : -1;
  if (view == View::side) {
    camera.narrowing = random.uniform(0.66, 0.8);
    camera.front_shift = left * random.uniform(0.07, 0.12);
  } else {
    camera.narrowing = random.uniform(0.93, 1.0);
    camera.front_shift = left * random.uniform(0.0, 0.035);
  }
  return camera;
}

/// Studio paper, a coloured wall, or a room with a floor.
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

/// Turns, tilts and bends the painted figure.
struct Warp {
  cv::Mat2f from;

  Warp(Random& random, int canvas, View view) : from(canvas, canvas) {
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
      cv::Vec2f* const row = from[y];
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
  [[nodiscard]] cv::Mat apply(const cv::Mat& picture) const {
    cv::Mat out;
    cv::remap(picture, out, from, cv::noArray(), cv::INTER_LINEAR, cv::BORDER_REPLICATE);
    return out;
  }
};

}  // namespace

std::string wardrobe_view_name(int view) {
  const auto kinds = static_cast<int>(view_names.size());
  const std::string name = view_names[static_cast<std::size_t>(view % kinds)];
  return view < kinds ? name : std::to_string(view / kinds) + name;
}

GarmentArtist::GarmentArtist(std::uint64_t seed, int item, int colours, int size)
    : seed_(seed),
      item_(item),
      size_(size),
      canvas_(size * (size <= 80 ? 3 : 2)),
      design_(design_garment(seed, item, colours)),
      cloth_(weave(design_,
                   Random(seed, stream_of("wardrobe.cloth"), 0, static_cast<std::uint64_t>(item)),
                   canvas_ * 3 / 2)),
      front_(cloth_) {
  if (design_.print != Print::none) {
    front_.ink = cloth_.ink.clone();
    add_print(front_, design_);
  }
}

cv::Mat3b GarmentArtist::draw(int colour, int view) {
  const auto photograph = (static_cast<std::uint64_t>(static_cast<unsigned>(colour)) << 16) |
                          static_cast<std::uint64_t>(static_cast<unsigned>(view));
  Random random(seed_, stream_of("wardrobe.photograph"), photograph,
                static_cast<std::uint64_t>(item_));
  const Colourway& colours = design_.colourways.at(static_cast<std::size_t>(colour));
  const View kind = kind_of(view);
  const Pose pose = strike(random, kind);
  const Camera camera = frame(design_, random, kind, canvas_);
  const double from = random.uniform(-0.9, 0.9);
  const Point light(std::sin(from), -std::cos(from));

  if (dyed_colour_ != colour) {
    dyed_ = dye(cloth_, colours);
    dyed_front_ = design_.print == Print::none ? dyed_ : dye(front_, colours);
    dyed_colour_ = colour;
  }
  Fabric fabric;
  fabric.pixels = &dyed_;
  fabric.texels_per_unit = cloth_.texels_per_unit;
  fabric.origin = {0, (design_.top() + design_.bottom()) / 2};
  fabric.flat = colours.base;
  Fabric front = fabric;
  front.pixels = &dyed_front_;

  Easel easel(canvas_, camera, light);
  Dresser(easel, design_, colours, pose, fabric, front).dress(random);

  const Warp warp(random, canvas_, kind);
  const cv::Mat3b figure = warp.apply(easel.colour());
  const cv::Mat1b cover = warp.apply(easel.cover());
  cv::Mat3b picture = backdrop(random, canvas_, kind);
  const cv::Mat1b shadow = softened(cover, 0.03 * canvas_);

  const auto shift_x = static_cast<int>(-light.x * 0.04 * canvas_);
  const auto shift_y = static_cast<int>(0.025 * canvas_);
  const auto exposure = static_cast<float>(random.uniform(0.78, 1.14));
  const auto warmth = static_cast<float>(random.uniform(-0.05, 0.05));
  const std::array<float, 3> gain{exposure * (1 - warmth), exposure, exposure * (1 + warmth)};
  for (int y = 0; y < canvas_; ++y) {
    cv::Vec3b* const out = picture[y];
    const cv::Vec3b* const worn = figure[y];
    const std::uint8_t* const covered = cover[y];
    const std::uint8_t* const shade = shadow[std::clamp(y - shift_y, 0, canvas_ - 1)];
    for (int x = 0; x < canvas_; ++x) {
      const int shade_x = std::clamp(x - shift_x, 0, canvas_ - 1);
      const float share = static_cast<float>(covered[x]) * (1.0F / 255);
      const float dim = (1 - share) * (1 - static_cast<float>(shade[shade_x]) * (0.30F / 255));
      for (int c = 0; c < 3; ++c) {
        const float value =
            static_cast<float>(out[x][c]) * dim + static_cast<float>(worn[x][c]) * share;
        out[x][c] =
            static_cast<std::uint8_t>(std::min(value * gain[static_cast<std::size_t>(c)], 255.0F));
      }
    }
  }
  cv::Mat3b small;
  cv::resize(picture, small, {size_, size_}, 0, 0, cv::INTER_AREA);
  return small;
}

}  // namespace seam::stages
