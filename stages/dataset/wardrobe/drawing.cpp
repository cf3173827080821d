#include "stages/dataset/wardrobe/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "stages/dataset/wardrobe/figure.hpp"

namespace seam::stages {

using namespace wardrobe;

namespace {

/// Studio paper, a coloured wall, or a room with a floor.
cv::Mat3b backdrop(Random& random, int full_canvas, View view) {
  const int canvas = full_canvas / 2;  // out of focus anyway
  constexpr std::array walls{Colour{226, 226, 226}, Colour{206, 210, 214}, Colour{238, 234, 226},
                             Colour{214, 204, 190}, Colour{196, 208, 212}, Colour{222, 208, 208},
                             Colour{186, 190, 180}, Colour{170, 174, 182}};
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
class Warp {
 public:
  Warp(Random& random, int canvas, View view) : from_(canvas, canvas) {
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

  [[nodiscard]] cv::Mat apply(const cv::Mat& picture) const {
    cv::Mat out;
    cv::remap(picture, out, from_, cv::noArray(), cv::INTER_LINEAR, cv::BORDER_REPLICATE);
    return out;
  }

 private:
  cv::Mat2f from_;
};

constexpr int view_kinds = 6;

/// Dresses the figure, from the back to the front.
void paint_dressed(Easel& easel, const Fitting& fitting, const GarmentDesign& design,
                   const Pose& pose, Random& random) {
  easel.lay_folds(wardrobe::Folds(fitting).lie(random));
  if (pose.worn) Body(fitting).paint();
  if (design.is_upper()) {
    UpperGarment(fitting).paint();
  } else if (design.is_legged()) {
    Trousers(fitting).paint();
  } else {
    Skirt(fitting).paint();
  }
}

}  // namespace

std::string wardrobe_view_name(int view) {
  constexpr std::array<const char*, view_kinds> names{"1_front", "2_side", "3_back",
                                                      "4_full",  "6_flat", "7_additional"};
  const std::string name = names[static_cast<std::size_t>(view % view_kinds)];
  return view < view_kinds ? name : std::to_string(view / view_kinds) + name;
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
  const auto kind = static_cast<View>(view % view_kinds);
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
  paint_dressed(easel, Fitting(easel, design_, colours, pose, fabric, front), design_, pose,
                random);

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
