/// Checkpoints, including the tensors: any bytes give a checkpoint or an error that names the
/// damage, and an accepted checkpoint can be loaded into stages or is rejected by them. The
/// header's length and the checksum are corrected first, because otherwise the code after these
/// checks is never reached.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <seam/error.hpp>
#include <seam/runner.hpp>
#include <seam/stage.hpp>
#include <seam/tensor.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/run/checkpoint.hpp"
#include "sdk/src/crc64.hpp"
#include "stages/retrieval/index.hpp"

namespace {

using seam::Archive;
using seam::Tensor;

/// Reads all entries as stages do.
class Reader final : public seam::Sink {
 public:
  void declare(seam::Declaration& d) override { d.keeps_state(); }
  void process(const seam::Packet& /*packet*/, seam::Context& /*context*/) override {}
  void load(const Archive& archive) override {
    for (const auto& [name, entry] : archive.entries()) {
      load_as_it_is(archive, name, entry);
      for (const Tensor& target : targets_) {
        attempt([&, &key = name] { seam::get_tensor(archive, key, target); });
      }
      attempt([&, &key = name] { (void)archive.integer(key); });
      attempt([&, &key = name] { (void)archive.number(key); });
      attempt([&, &key = name] { (void)archive.text(key); });
    }
  }

 private:
  template <class Work>
  static void attempt(const Work& work) {
    try {
      work();
    } catch (const seam::Error&) {  // expected; anything else is a bug
    }
  }

  /// Reads into a tensor of the shape that the file gives.
  static void load_as_it_is(const Archive& archive, const std::string& name,
                            const Archive::Entry& entry) {
    const auto type = seam::scalar_type_of(entry.type);
    if (!type) return;
    const Tensor tensor = seam::saved_tensor(archive, name, *type);
    Archive again;
    seam::put_tensor(again, name, tensor);
    // A bool that is neither 0 nor 1 is invalid.
    if (entry.type != "bool" && again.get(name) != entry) {
      throw std::logic_error("a tensor is not what was saved");
    }
  }

  std::vector<Tensor> targets_{torch::zeros({3, 2}), torch::zeros({}, torch::kFloat64),
                               torch::zeros({4}, torch::kInt64), torch::zeros({2}, torch::kBool)};
};

/// An internal error that a stage reports counts as a bug here.
void load_into(std::unique_ptr<seam::Stage> stage, const seam::host::StageState& state) {
  const bool reads_all = dynamic_cast<Reader*>(stage.get()) != nullptr;
  seam::StageRunner runner(state.name, state.use, std::move(stage));
  try {
    runner.load(state.archive);
    (void)runner.save();
  } catch (const seam::Error& error) {
    if (reads_all && error.fault() == seam::Fault::internal) throw std::logic_error(error.what());
  }
}

/// Returns the end of the JSON that begins at byte 8: the position after its last closing brace and
/// the spaces that follow.
std::size_t end_of_header(std::string_view text) {
  int open = 0;
  bool in_text = false;
  for (std::size_t at = sizeof(std::uint64_t); at < text.size(); ++at) {
    if (in_text && text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      in_text = !in_text;
    } else if (!in_text && text[at] == '{') {
      ++open;
    } else if (!in_text && text[at] == '}' && --open == 0) {
      return std::min(text.find_first_not_of(' ', at + 1), text.size());
    }
  }
  return text.size();
}

std::vector<std::byte> put_right(std::span<const std::byte> input) {
  constexpr std::size_t digits = 16;
  const std::string before = R"("seam.checksum":"crc64:)";
  std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  if (text.size() >= sizeof(std::uint64_t)) {
    const std::uint64_t length = end_of_header(text) - sizeof(std::uint64_t);
    std::memcpy(text.data(), &length, sizeof(length));
  }
  const std::size_t place = text.find(before) + before.size();
  if (text.find(before) != std::string::npos && place + digits <= text.size()) {
    text.replace(place, digits, digits, '0');
    seam::Crc64 checksum;
    checksum.add(std::as_bytes(std::span(text)));
    std::uint64_t value = checksum.value();
    for (std::size_t digit = digits; digit-- > 0; value >>= 4U) {
      text[place + digit] = "0123456789abcdef"[value & 0xFU];
    }
  }
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::byte> bytes = put_right(std::as_bytes(std::span(data, size)));
  seam::host::Checkpoint checkpoint;
  try {
    checkpoint = seam::host::parse_checkpoint(bytes, "fuzz.safetensors");
  } catch (const seam::Error& error) {
    // Files of other versions or programs are configuration errors; internal errors are bugs.
    if (error.fault() == seam::Fault::internal) throw;
    return 0;
  }
  for (const seam::host::StageState& state : checkpoint.stages) {
    load_into(std::make_unique<Reader>(), state);
    load_into(std::make_unique<seam::stages::Index>(), state);
  }
  return 0;
}
