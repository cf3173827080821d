/// The stage that reads image files.
///
///     path ──► [ image.decode ] ──► image
///
/// A cache keeps decoded images in memory, for data sets that are read in every epoch:
///
///     file ──► find ──► its pixels, if cached and the file has not changed since
///               └─► no: decode ──► keep, while there is space
///
/// Nothing is evicted: each epoch reads the same files in a different order, so evicting the oldest
/// would remove images that are needed soon.
#pragma once

#include <mutex>
#include <unordered_map>

#include <seam/stage.hpp>

namespace seam::stages {

/// Identifies one state of a file.
struct FileStamp {
  std::uintmax_t size = 0;
  std::filesystem::file_time_type written;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// nullopt if the file's status cannot be read; reading the file will report why.
std::optional<FileStamp> stamp_of(const std::filesystem::path& file);

/// Safe to use by several threads.
class PictureCache {
 public:
  /// `bytes`: maximum size of all pixels.
  explicit PictureCache(std::uint64_t bytes) : room_(bytes) {}

  /// A copy of the pixels, so that a stage that writes into an image does not change it for the
  /// next epoch. nullopt if the file was not kept or has a different stamp now.
  [[nodiscard]] std::optional<Image> find(const std::filesystem::path& file,
                                          const FileStamp& stamp) const;

  /// Keeps the image if there is space, replacing an image of the same file. Returns whether this
  /// was the first image without space.
  bool keep(const std::filesystem::path& file, const FileStamp& stamp, const Image& image);

  [[nodiscard]] std::size_t pictures() const;

 private:
  struct Entry {
    FileStamp stamp;
    Image image;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::uint64_t room_;
  bool full_ = false;
};

class Decode final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.decode";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void process(Packet& packet, Context& context) const override;

 private:
  enum class Colour : std::uint8_t { rgb, grey };

  [[nodiscard]] Image decoded(const Packet& packet) const;

  Colour colour_ = Colour::rgb;
  std::int64_t max_pixels_ = 64'000'000;
  std::int64_t cache_mebibytes_ = 0;
  std::unique_ptr<PictureCache> cache_;  // null without `cache`
};

}  // namespace seam::stages
