/// Files that survive a crash of the process or of the machine.
///
///     WholeFile      x.part ──write, fsync──► rename to x ──► fsync of the folder
///     LineFile       complete lines; remembers its size, can be truncated to an earlier one
///     FolderLock     one process per folder; released when the process ends
///
/// All throw seam::Error (Fault::data) with the path and the system's message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "seam/error.hpp"

namespace seam::host {

/// An open file, closed by the destructor.
class Descriptor {
 public:
  /// `flags`: as for open(2); O_CLOEXEC is added.
  Descriptor(const std::filesystem::path& path, int flags);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void write(std::span<const std::byte> bytes);
  /// Waits until the written data is on the disk.
  void sync();
  void close();

 private:
  int number_ = -1;
  std::filesystem::path path_;
};

class WholeFile {
 public:
  explicit WholeFile(const std::filesystem::path& path);
  /// Removes the partial file if commit() was not called.
  ~WholeFile();

  void write(std::span<const std::byte> bytes) { file_.write(bytes); }
  /// Makes the file appear under its name, replacing an earlier one.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path part_;
  Descriptor file_;
  bool committed_ = false;
};

/// "cannot list 'runs': Permission denied".
Error path_fault(const std::string& what, const std::filesystem::path& path,
                 const std::error_code& error);
void write_whole_file(const std::filesystem::path& path, std::string_view text);
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text_file(const std::filesystem::path& path);

class LineFile {
 public:
  /// Opens or creates the file and truncates it to `size` bytes. Throws if it is shorter.
  LineFile(const std::filesystem::path& path, std::uint64_t size);

  /// Appends `lines`, which ends with a line break: all of it or, with an Error, nothing.
  void append(std::string_view lines);
  void sync() { file_.sync(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  Descriptor file_;
  std::uint64_t size_;
};

class FolderLock {
 public:
  /// Throws seam::Error (Fault::configuration) that names the process if another one holds the
  /// lock.
  explicit FolderLock(const std::filesystem::path& folder);

  /// Returns the id of the process that holds the lock, empty if it has not written it yet; nullopt
  /// if the lock is free. Does not disturb the holder.
  static std::optional<std::string> holder(const std::filesystem::path& folder);

 private:
  Descriptor file_;
};

}  // namespace seam::host
