#include "stages/dataset/wardrobe/drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <seam/random.hpp>

#include "stages/dataset/wardrobe/backdrop.hpp"
#include "stages/dataset/wardrobe/camera.hpp"
#include "stages/dataset/wardrobe/easel.hpp"
#include "stages/dataset/wardrobe/figure.hpp"
#include "stages/dataset/wardrobe/fitting.hpp"
#include "stages/dataset/wardrobe/pose.hpp"

namespace seam::stages {

using namespace wardrobe;

namespace {

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
  const std::string name = name_of(kind_of(view));
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
