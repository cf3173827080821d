/// Runs model.sccapsnet for a program that checks it: sccapsnet_again WEIGHTS IMAGES OUT.
///
/// WEIGHTS is a safetensors file, or "-" for initial weights and one training batch; IMAGES has
/// "images". OUT gets the stage's state and its result for the images: "output.capsules".
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <seam/safetensors.hpp>
#include <seam/testing.hpp>
#include <span>
#include <string>

#include "stages/model/sccapsnet.hpp"

int main(int count, char** arguments) try {
  const std::span words(arguments, static_cast<std::size_t>(count));
  if (words.size() != 4) throw std::runtime_error("sccapsnet_again WEIGHTS IMAGES OUT");
  const std::string weights = words[1];
  seam::testing::Harness harness("model", std::make_unique<seam::stages::Sccapsnet>());
  harness.set("classes", 5).set("width", 8).set("primary_channels", 64);
  harness.set("towers", "together").set("train_mask", "none");
  if (weights != "-") harness.set("weights", weights.c_str());

  seam::Packet packet;
  packet.set(
      seam::field::images,
      seam::detail::tensor_of(seam::read_safetensors(words[2]).tensors.at("images"), "images"));
  if (weights == "-") {
    harness.training(true).push(packet);
    dynamic_cast<seam::Trainable&>(harness.runner().stage()).batch_accepted();
    harness.finish();
    (void)harness.take_outputs();
  }
  harness.training(false).push(packet).finish();
  for (const seam::Error& error : harness.errors()) throw seam::Error(error);

  seam::Archive out = harness.runner().save();
  seam::put_tensor(out, "output.capsules", harness.outputs().at(0)[seam::field::capsules]);
  seam::Safetensors file;
  for (const auto& [name, entry] : out.entries()) file.tensors.emplace(name, entry);
  const auto bytes = seam::safetensors_bytes(file);
  std::ofstream(words[3], std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
