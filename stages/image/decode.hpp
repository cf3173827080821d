/// The stage that reads image files.
///
///     path ──► [ image.decode ] ──► image
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <seam/stage.hpp>

#include "stages/image/picture_cache.hpp"

namespace seam::stages {

/// Reads the file that `path` names and decodes it (decode_image.hpp). A file that is missing,
/// truncated, damaged, of an unknown format or too large is an error of its packet. With `cache`,
/// an unchanged file is decoded once per run.
class Decode final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.decode";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void process(Packet& packet, Context& context) const override;

 private:
  enum class Colour : std::uint8_t { rgb, grey };

  [[nodiscard]] Image decoded(const std::filesystem::path& path) const;

  Colour colour_ = Colour::rgb;
  std::int64_t max_pixels_ = 64'000'000;
  std::int64_t cache_mebibytes_ = 0;
  std::unique_ptr<PictureCache> cache_;  // null without `cache`
};

}  // namespace seam::stages
