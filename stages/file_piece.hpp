/// Images that are part of a larger file, such as the members of a tar:
///
///     train-000.tar  ┌ header ┬ 000.jpg ┬ header ┬ 000.cls ┬ ...
///                             └─ piece ─┘
///
/// All threads read through one descriptor, each at its own offset.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <seam/error.hpp>
#include <seam/field.hpp>
#include <system_error>

namespace seam::stages {

/// A file that is open for reading. Safe to use by several threads.
class OpenFile {
 public:
  /// Takes over the descriptor. `name` is for messages. Throws seam::Error if it is not open.
  OpenFile(int descriptor, std::string name) : name_(std::move(name)), descriptor_(descriptor) {
    if (descriptor_ < 0 || ::fstat(descriptor_, &opened_) != 0) {
      const std::string reason = std::generic_category().message(errno) +
                                 (errno == EMFILE ? "; raise the limit: ulimit -n 65536" : "");
      if (descriptor_ >= 0) ::close(descriptor_);
      throw Error("'" + name_ + "' cannot be opened: " + reason);
    }
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile& operator=(OpenFile&&) = delete;  // not copyable

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(opened_.st_size); }

  /// Reads `size` bytes to `out`. Throws seam::Error if they cannot be read, or if the file has
  /// changed since it was opened: its pieces may then be elsewhere.
  void read(std::uint64_t offset, void* out, std::size_t size) const {
    struct stat now {};
    const bool known = ::fstat(descriptor_, &now) == 0;
    if (known && (now.st_size != opened_.st_size || now.st_mtim.tv_sec != opened_.st_mtim.tv_sec ||
                  now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec)) {
      throw Error("'" + name_ + "' has changed since it was opened; start the run again");
    }
    for (std::size_t filled = 0; filled < size;) {
      const ::ssize_t got = ::pread(descriptor_, static_cast<char*>(out) + filled, size - filled,
                                    static_cast<::off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        throw Error("'" + name_ + "' cannot be read at byte " + std::to_string(offset + filled) +
                    ": " + (got < 0 ? std::generic_category().message(errno) : "the file ends"));
      }
      filled += static_cast<std::size_t>(got);
    }
  }

 private:
  std::string name_;
  int descriptor_;
  struct stat opened_ {};
};

struct FilePiece {
  std::shared_ptr<const OpenFile> file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  /// Its bytes. Throws seam::Error as OpenFile::read() does.
  [[nodiscard]] std::vector<std::uint8_t> read() const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    file->read(offset, bytes.data(), bytes.size());
    return bytes;
  }

  /// Whether they are the same part of files of one name.
  friend bool operator==(const FilePiece& a, const FilePiece& b) {
    return a.file->name() == b.file->name() && a.offset == b.offset && a.size == b.size;
  }
};

}  // namespace seam::stages

namespace seam::field {

/// The part of a file that is the image; `path` is then only its name.
inline constexpr Field<stages::FilePiece> piece{"piece"};

}  // namespace seam::field
