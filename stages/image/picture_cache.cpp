#include "stages/image/picture_cache.hpp"

#include <system_error>
#include <utility>

namespace seam::stages {

std::optional<FileStamp> stamp_of(const std::filesystem::path& file) {
  std::error_code no_size;
  std::error_code no_time;
  FileStamp stamp;
  stamp.size = std::filesystem::file_size(file, no_size);
  stamp.written = std::filesystem::last_write_time(file, no_time);
  if (no_size || no_time) return std::nullopt;
  return stamp;
}

std::optional<Image> PictureCache::find(const std::filesystem::path& file,
                                        const FileStamp& stamp) const {
  Image kept;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(file.native());
    if (entry == entries_.end() || entry->second.stamp != stamp) return std::nullopt;
    kept = entry->second.image;
  }
  return kept.clone();  // outside the lock, as the only expensive step
}

bool PictureCache::keep(const std::filesystem::path& file, const FileStamp& stamp,
                        const Image& image) {
  Image own = image.clone();
  const std::lock_guard lock(mutex_);
  const auto former = entries_.find(file.native());
  if (former != entries_.end()) {
    room_ += former->second.image.bytes();
    entries_.erase(former);
  }
  if (own.bytes() > room_) return !std::exchange(full_, true);
  room_ -= own.bytes();
  entries_.emplace(file.native(), Entry{stamp, std::move(own)});
  return false;
}

std::size_t PictureCache::pictures() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace seam::stages
