// The neck and the front of an upper garment: closures, hood, collars.
#include "stages/dataset/wardrobe/figure.hpp"

namespace seam::stages::wardrobe {

void UpperGarment::front_details() {
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
        easel_.fill(ellipse({0, neck + 0.05}, 0.011, 0.025), solid({206, 206, 210}, false), 0.005);
      }
      break;
  }
  pockets();
}

void UpperGarment::hood_behind() {
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

void UpperGarment::collar() {
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
                .curve({side * 0.08, -0.85}, {side * 0.04, low - 0.04}, {side * 0.008, low - 0.05})
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
        easel_.fill(Outline({side * (w - 0.01), -0.865})
                        .curve({side * 0.08, -0.82}, {side * 0.04, low - 0.03}, {side * 0.004, low})
                        .line({side * 0.075, low + 0.085})
                        .line({side * (w + 0.045), -0.765})
                        .points(),
                    cloth_, 0.012);
        easel_.stroke(
            {{side * 0.004, low}, {side * 0.075, low + 0.085}, {side * (w + 0.045), -0.765}}, seam_,
            0.006);
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

}  // namespace seam::stages::wardrobe
