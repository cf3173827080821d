/// A model stage on images from another program, for tests that compare with Python:
///
///     run_model STAGE PICTURES.safetensors RESULT.safetensors [PARAMETER=VALUE ...]
///
/// PICTURES has "images" [N,3,H,W]. RESULT gets the fields that the stage provides, and a
/// checkpoint's entries for a stage named "model": "model/conv1.weight" and so on.
#include <seam/safetensors.hpp>
#include <seam/tensor.hpp>
#include <seam/testing.hpp>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "stages/model/inception.hpp"
#include "stages/model/resnet.hpp"
#include "stages/model/sccapsnet.hpp"
#include "stages/model/se_resnet50.hpp"
#include "stages/model/torchscript.hpp"

namespace {

using namespace seam;

std::unique_ptr<Stage> stage_called(const std::string& name) {
  if (name == stages::Inception::name) return std::make_unique<stages::Inception>();
  if (name == stages::Resnet::name) return std::make_unique<stages::Resnet>();
  if (name == stages::Sccapsnet::name) return std::make_unique<stages::Sccapsnet>();
  if (name == stages::SeResnet50::name) return std::make_unique<stages::SeResnet50>();
  if (name == stages::Torchscript::name) return std::make_unique<stages::Torchscript>();
  throw Error("no stage '" + name + "' here");
}

Value value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  char* end = nullptr;
  const long long integer = std::strtoll(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0') return static_cast<std::int64_t>(integer);
  return text;
}

void run(int count, char** arguments) {
  if (count < 4) throw Error("run_model STAGE PICTURES RESULT [PARAMETER=VALUE ...]");
  seam::testing::Harness harness("model", stage_called(arguments[1]));
  for (int at = 4; at < count; ++at) {
    const std::string argument = arguments[at];
    const std::size_t equals = argument.find('=');
    harness.set(argument.substr(0, equals), value_of(argument.substr(equals + 1)));
  }
  Archive pictures;
  for (auto& [name, entry] : read_safetensors(arguments[2]).tensors) pictures.put(name, entry);
  Packet packet;
  packet.set(field::images, saved_tensor(pictures, "images"));
  harness.push(packet);
  if (!harness.errors().empty()) throw Error(harness.errors()[0]);
  Archive result;
  for (const auto& key : {field::embedding, field::logits, field::capsules}) {
    if (harness.outputs().at(0).has(key)) {
      put_tensor(result, std::string(key.name), harness.outputs()[0].get(key));
    }
  }
  const Archive state = harness.runner().save();
  for (const auto& [name, entry] : state.entries()) result.put("model/" + name, entry);
  const std::vector<std::byte> bytes = safetensors_bytes({result.entries(), {}});
  std::ofstream(arguments[3], std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run(count, arguments);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
