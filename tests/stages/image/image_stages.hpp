/// Runs a stage that changes images.
#pragma once

#include <seam/testing.hpp>

#include "tests/stages/image/pictures.hpp"

namespace seam::test {

using Settings = std::map<std::string, Value>;

/// The stage by the last part of its name: "crop".
template <class Stage>
std::unique_ptr<seam::testing::Harness> stage_with(const Settings& settings = {}) {
  const std::string_view name = Stage::name;
  auto harness = std::make_unique<seam::testing::Harness>(
      std::string(name.substr(name.find('.') + 1)), std::make_unique<Stage>());
  for (const auto& [parameter, value] : settings) harness->set(parameter, value);
  return harness;
}

struct Run {
  std::int64_t epoch = 0;
  std::uint64_t seed = 1;
  bool training = true;
  std::size_t pictures = 24;
};

/// The images that the stage makes of copies of one picture.
template <class Stage>
std::vector<Image> changed(const Settings& settings, const Run& run = {}) {
  const auto harness = stage_with<Stage>(settings);
  harness->seed(run.seed).epoch(run.epoch).training(run.training);
  harness->push_all(std::vector<Packet>(run.pictures, packet_with(smooth_picture(40, 30))));
  std::vector<Image> images;
  for (const Packet& packet : harness->outputs()) images.push_back(packet.get(field::image));
  return images;
}

/// Expects each picture, epoch and seed to have its own draws, in training and evaluation.
template <class Stage>
void expect_draws_anew(const Settings& settings) {
  const std::vector<Image> images = changed<Stage>(settings);
  EXPECT_NE(images[0], images[1]);
  EXPECT_NE(images, changed<Stage>(settings, {.epoch = 1}));
  EXPECT_NE(images, changed<Stage>(settings, {.seed = 2}));
  EXPECT_EQ(images, changed<Stage>(settings, {.training = false}));
}

/// The message of the error that the packet is refused with.
template <class Stage>
std::string fault_of(const Packet& packet, const Settings& settings = {},
                     Fault fault = Fault::data) {
  const auto harness = stage_with<Stage>(settings);
  harness->push(packet);
  if (harness->errors().empty()) return "no error";
  EXPECT_EQ(harness->errors().front().fault(), fault);
  return harness->errors().front().what();
}

}  // namespace seam::test
