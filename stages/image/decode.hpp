/// The stage that reads picture files.
///
///     path ──► [ image.decode ] ──► image
#pragma once

#include <cstdint>
#include <string_view>

#include <seam/stage.hpp>

namespace seam::stages {

/// Reads the file that `path` names and decodes it (decode_image.hpp). A file that is missing, cut
/// short, damaged, of no known format or too large is an error of its packet.
class Decode final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.decode";

  void declare(Declaration& d) override;
  void process(Packet& packet, Context& context) const override;

 private:
  enum class Colour : std::uint8_t { rgb, grey };

  Colour colour_ = Colour::rgb;
  std::int64_t max_pixels_ = 64'000'000;
};

}  // namespace seam::stages
