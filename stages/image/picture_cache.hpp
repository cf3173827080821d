/// Decoded pictures that stay in memory, for data sets that are read epoch after epoch:
///
///     file ──► find ──► its pixels, if they are here and the file has not changed since
///               └─► no: decode ──► keep, while there is room
///
/// Nothing is evicted: each epoch reads the same files in another order, where an eviction by age
/// would throw out what comes next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include <seam/image.hpp>

namespace seam::stages {

/// What tells one state of a file from another.
struct FileStamp {
  std::uintmax_t size = 0;
  std::filesystem::file_time_type written;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// None where the file cannot be asked; who reads it will say why.
std::optional<FileStamp> stamp_of(const std::filesystem::path& file);

/// Safe to use by several threads.
class PictureCache {
 public:
  /// `bytes`: of pixels, at most.
  explicit PictureCache(std::uint64_t bytes) : room_(bytes) {}

  /// Pixels of their own, so that a stage that writes into a picture does not change the next
  /// epoch's. None where the file was not kept or has another stamp now.
  [[nodiscard]] std::optional<Image> find(const std::filesystem::path& file,
                                          const FileStamp& stamp) const;

  /// Keeps the picture if there is room; a picture of the same file gives way to it. Whether this
  /// one was the first for which there was none.
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

}  // namespace seam::stages
