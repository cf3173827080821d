#include "stages/image/augment.hpp"

#include <utility>

#include "stages/image/check_order.hpp"
#include "stages/image/move_landmarks.hpp"

namespace seam::stages {

void Augment::declare(Declaration& d) {
  d.doc(
      "Rotates, shifts, shears, zooms, flips and brightens an image at random: one composed affine "
      "map with bilinear interpolation and repeated edges, then a horizontal flip, then "
      "brightness, then saturation and hue, or grey. The conventions are those of "
      "Keras-Preprocessing 1.1.0. A preset gives all ranges; a parameter that is set replaces its "
      "part of the preset.");
  d.parameter("preset", preset_,
              "as_released: the released code of SCCapsNet and RCCapsNet, including the two bugs "
              "of its library; corrected: the same without them; as_published: the thesis's text",
              {{"corrected", Preset::corrected},
               {"as_published", Preset::as_published},
               {"as_released", Preset::as_released}});
  d.parameter("rotation_degrees", rotation_degrees_, "uniform in ± this angle")
      .range(0, 180)
      .unit("degrees");
  d.parameter("shift", shift_, "uniform in ± this fraction of the side").range(0, 1);
  d.parameter("shear_degrees", shear_degrees_, "uniform in ± this angle")
      .range(0, 80)
      .unit("degrees");
  d.parameter("zoom_least", zoom_least_,
              "minimum of the zoom factor, uniform and separate for each side; below 1 enlarges")
      .range(0.01, 100);
  d.parameter("zoom_most", zoom_most_, "maximum of the zoom factor").range(0.01, 100);
  d.parameter("flip_probability", flip_probability_, "probability of a horizontal flip")
      .range(0, 1);
  d.parameter("brightness_least", brightness_least_, "minimum of the brightness factor (uniform)")
      .range(0, 100);
  d.parameter("brightness_most", brightness_most_, "maximum of the brightness factor")
      .range(0, 100);
  d.parameter("stretch", stretch_,
              "scale the values so that the largest is 255, before brightness: a bug of "
              "Keras-Preprocessing up to 1.1.0");
  d.parameter("saturation_least", saturation_least_,
              "minimum of the saturation factor (uniform); 0 is grey")
      .range(0, 100);
  d.parameter("saturation_most", saturation_most_, "maximum of the saturation factor")
      .range(0, 100);
  d.parameter("hue_degrees", hue_degrees_, "hue rotation, uniform in ± this angle")
      .range(0, 180)
      .unit("degrees");
  d.parameter("grey_probability", grey_probability_,
              "probability of making an image grey, as with a saturation of 0")
      .range(0, 1);
  d.parameter("centre", centre_,
              "fixed point of rotation and zoom: the centre, or the pixel to its lower right, as "
              "in Keras-Preprocessing up to 1.1.0",
              {{"preset", CentreChoice::of_preset},
               {"middle", CentreChoice::middle},
               {"keras_1_1_0", CentreChoice::keras_1_1_0}});
  d.needs(field::image);
  d.accepts(field::landmarks).doc("moved with the image; a flip swaps left and right");
  d.accepts(field::visibility).doc("of landmarks: one that leaves the image becomes cut off");
  d.provides(field::image);
}

Augment::Settings Augment::settings_of(Preset preset) {
  Settings settings;  // the defaults of AugmentationRanges are the released code's
  switch (preset) {
    case Preset::corrected:
      break;
    case Preset::as_published:
      settings.ranges.shift = 0.1;
      settings.ranges.shear_degrees = 5.7295779513082320877;  // 0.1 radian
      break;
    case Preset::as_released:
      settings.centre = Centre::keras_1_1_0;
      settings.contrast = Contrast::stretch;
      break;
  }
  return settings;
}

void Augment::open(Context& /*context*/) {
  settings_ = settings_of(preset_);
  AugmentationRanges& ranges = settings_.ranges;
  ranges.rotation_degrees = rotation_degrees_.value_or(ranges.rotation_degrees);
  ranges.shift = shift_.value_or(ranges.shift);
  ranges.shear_degrees = shear_degrees_.value_or(ranges.shear_degrees);
  ranges.zoom_least = zoom_least_.value_or(ranges.zoom_least);
  ranges.zoom_most = zoom_most_.value_or(ranges.zoom_most);
  ranges.flip_probability = flip_probability_.value_or(ranges.flip_probability);
  ranges.brightness_least = brightness_least_.value_or(ranges.brightness_least);
  ranges.brightness_most = brightness_most_.value_or(ranges.brightness_most);
  ranges.saturation_least = saturation_least_;
  ranges.saturation_most = saturation_most_;
  ranges.hue_degrees = hue_degrees_;
  ranges.grey_probability = grey_probability_;
  if (stretch_) settings_.contrast = *stretch_ ? Contrast::stretch : Contrast::keep;
  if (centre_ != CentreChoice::of_preset) {
    settings_.centre = centre_ == CentreChoice::middle ? Centre::middle : Centre::keras_1_1_0;
  }
  check_order(ranges.zoom_least, ranges.zoom_most, "zoom");
  check_order(ranges.brightness_least, ranges.brightness_most, "brightness");
  check_order(ranges.saturation_least, ranges.saturation_most, "saturation");
}

void Augment::process(Packet& packet, Context& context) const {
  Random random = context.random(packet);
  const Augmentation drawn = draw_augmentation(settings_.ranges, random);
  const Image before = packet.get(field::image);
  Image after = augment_image(before, drawn, settings_.centre, settings_.contrast);
  move_landmarks(packet, before, after,
                 source_map(drawn, before.height(), before.width(), settings_.centre),
                 drawn.flip ? Mirroring::mirrored : Mirroring::none);
  packet.set(field::image, std::move(after));
}

}  // namespace seam::stages
