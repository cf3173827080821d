/// Files that survive the death of the process and of the machine.
///
///     WholeFile      x.part ──write, fsync──► rename to x ──► fsync of the folder
///     LineFile       whole lines at its end; remembers its size, can be cut back to an earlier one
///     FolderLock     one process a folder; gone with the process
///
/// All throw seam::Error (Fault::data) with the path and the system's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace seam::host {

/// An open file, closed when it goes.
class Descriptor {
 public:
  Descriptor() = default;
  /// `flags` as open(2) takes them; O_CLOEXEC is added.
  Descriptor(const std::filesystem::path& path, int flags);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void write(std::span<const std::byte> bytes);
  /// Waits until what was written is on the disk.
  void sync();
  void close();

 private:
  int number_ = -1;
  std::filesystem::path path_;
};

class WholeFile {
 public:
  explicit WholeFile(const std::filesystem::path& path);
  /// Removes what was written where commit() was not reached.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  WholeFile(WholeFile&&) = delete;
  WholeFile& operator=(WholeFile&&) = delete;

  void write(std::span<const std::byte> bytes) { file_.write(bytes); }
  /// The file appears under its name, replacing an earlier one.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path part_;
  Descriptor file_;
  bool committed_ = false;
};

void write_whole_file(const std::filesystem::path& path, std::string_view text);
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text_file(const std::filesystem::path& path);

class LineFile {
 public:
  /// Opens or makes the file and cuts it to `size` bytes. Throws where it is shorter.
  LineFile(const std::filesystem::path& path, std::uint64_t size);

  /// `lines` ends with a line break. Either all of it is added or, with an Error, nothing.
  void append(std::string_view lines);
  void sync() { file_.sync(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  Descriptor file_;
  std::uint64_t size_;
};

class FolderLock {
 public:
  /// Throws seam::Error (Fault::configuration) where another process holds it, naming that process.
  explicit FolderLock(const std::filesystem::path& folder);

  /// The process that holds it, as it wrote its number; empty text: it has not yet. None: nobody
  /// does. Asking disturbs nobody.
  static std::optional<std::string> holder(const std::filesystem::path& folder);

 private:
  Descriptor file_;
};

}  // namespace seam::host
