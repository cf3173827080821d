#include "stages/dataset/wardrobe/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "stages/dataset/wardrobe/cloth.hpp"
#include "stages/dataset/wardrobe/figure.hpp"

namespace seam::stages::wardrobe {
namespace {

enum class View : std::uint8_t { front, side, back, full, flat, additional };
constexpr int view_kinds = 6;

Camera frame(Random& random, const GarmentDesign& design, View view, int canvas) {
  Camera camera;
  const double reach = design.is_upper() ? 0.30 + 0.38 * design.sleeve_length : 0;
  const double wide = design.is_legged() ? 0.66 : 2 * std::max({reach, design.hem_width, 0.33});
  const double height = std::max({design.bottom() - design.top(), wide * 0.95, 0.75});
  // How much of the canvas the garment fills.
  const double share = view == View::full ? 0.66 : view == View::additional ? 0.89 : 0.79;
  camera.scale = canvas * (share + random.uniform(-0.06, 0.06)) / height;
  camera.target = {0, (design.top() + design.bottom()) / 2};
  camera.centre.x = canvas * random.uniform(0.44, 0.56);
  camera.centre.y = canvas * random.uniform(0.45, 0.55);
  const bool turned = view == View::side;
  camera.narrowing = turned ? random.uniform(0.66, 0.8) : random.uniform(0.93, 1.0);
  camera.front_shift = turned ? random.uniform(0.07, 0.12) : random.uniform(0.0, 0.035);
  if (random.coin(0.5)) camera.front_shift = -camera.front_shift;
  camera.sway = random.uniform(-0.05, 0.05);
  const double most = view == View::flat ? 0.35 : 0.12;
  camera.turn = random.uniform(-most, most);
  return camera;
}

/// A wall with a glow, and often a floor.
cv::Mat3f backdrop(Random& random, int canvas) {
  const Colour cold(236, 226, 214);
  const Colour warm(200, 212, 224);
  const double shade = random.uniform(0.8, 1.05);
  const Colour wall = mixed(cold, warm, random.uniform()) * shade;
  const double darker = random.uniform(0.7, 0.9);
  const Colour floor = mixed(cold, warm, random.uniform()) * shade * darker;
  const double horizon = random.uniform(0.62, 1.3) * canvas;
  const double glow_x = random.uniform(0.2, 0.8) * canvas;
  const double glow_y = random.uniform(0.1, 0.6) * canvas;
  const double glow = random.uniform(1.04, 1.16);
  cv::Mat3f picture(canvas, canvas);
  for (int y = 0; y < canvas; ++y) {
    for (int x = 0; x < canvas; ++x) {
      const double away = std::hypot(x - glow_x, y - glow_y) / canvas;
      picture(y, x) = (y < horizon ? wall : floor) * (glow - 0.1 * away - 0.28 * away * away);
    }
  }
  return picture;
}

}  // namespace

std::string view_name(int view) {
  constexpr std::array<const char*, view_kinds> names{"1_front", "2_side", "3_back",
                                                      "4_full",  "6_flat", "7_additional"};
  const std::string name = names[static_cast<std::size_t>(view % view_kinds)];
  return view < view_kinds ? name : std::to_string(view / view_kinds) + name;
}

GarmentArtist::GarmentArtist(std::uint64_t seed, int item, int colour, int size)
    : seed_(seed),
      item_(item),
      colour_(colour),
      size_(size),
      canvas_(size * (size <= 80 ? 3 : 2)),
      design_(design_garment(seed, item, colour + 1)),
      cloth_(weave(design_, design_.colourways.back(),
                   Random(seed, stream_of("wardrobe.cloth"), 0, static_cast<std::uint64_t>(item)),
                   canvas_ * 3 / 2)) {}

cv::Mat3b GarmentArtist::draw(int view) const {
  const auto photograph = (static_cast<std::uint64_t>(colour_) << 16) | static_cast<unsigned>(view);
  Random random(seed_, stream_of("wardrobe.photograph"), photograph,
                static_cast<std::uint64_t>(item_));
  const auto kind = static_cast<View>(view % view_kinds);
  const Pose pose = strike(random, kind != View::flat, kind == View::back);
  const Camera camera = frame(random, design_, kind, canvas_);
  const double from = random.uniform(-0.9, 0.9);
  const Point light(std::sin(from), -std::cos(from));

  cv::Mat3f picture = backdrop(random, canvas_);
  Easel easel(picture, camera, light, cloth_);
  paint_figure(easel, design_, design_.colourways.back(), pose, random);
  const double exposure = random.uniform(0.78, 1.14);
  const double warmth = random.uniform(-0.05, 0.05);
  cv::resize(picture, picture, {size_, size_}, 0, 0, cv::INTER_AREA);
  cv::multiply(picture, cv::Scalar(1 - warmth, 1, 1 + warmth) * exposure, picture);
  cv::Mat3b bytes;
  picture.convertTo(bytes, CV_8U);
  return bytes;
}

}  // namespace seam::stages::wardrobe
