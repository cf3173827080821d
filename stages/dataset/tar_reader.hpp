/// Finds the files in a tar without reading their content: ustar, GNU (long names) and pax (path,
/// size), and the format of Unix Version 7.
///
///     header ┬ content ┬ header ┬ content ┬ zeros
///       512  │   seek  │
///
/// Source of the formats: POSIX.1-2017, pax, and the manual of GNU tar 1.34, "Tar Internals".
#pragma once

#include <functional>
#include <optional>

#include "stages/file_piece.hpp"

namespace seam::stages {

/// A regular file in a tar.
struct TarMember {
  std::string name;
  FilePiece content;
};

class TarReader {
 public:
  /// `stop`: asked before each header whether to stop; null: never.
  explicit TarReader(std::shared_ptr<const OpenFile> file, std::function<bool()> stop = nullptr)
      : file_(std::move(file)), stop_(std::move(stop)) {}

  /// The next regular file; nullopt at the end. Folders, devices and labels are passed over.
  ///
  /// Throws seam::Error with the tar's name, and the position of the header, if the tar is
  /// truncated, damaged or compressed, or followed by other data, or if a member's content is
  /// elsewhere or its name leaves the tar. Cancelled if `stop` returns true.
  std::optional<TarMember> next();

 private:
  static constexpr std::size_t block = 512;
  using Header = std::array<char, block>;
  /// Values for the next member, from headers before its own.
  struct Extended {
    std::optional<std::string> name;
    std::optional<std::int64_t> size;
    bool sparse = false;
  };
  enum class Kind : std::uint8_t {
    file,
    extension,  ///< its content is values for the next member
    other,      ///< it has content that is passed over
    empty       ///< it has no content, whatever its size
  };

  [[noreturn]] void fail(const std::string& what) const;
  [[nodiscard]] Header read_header() const;
  [[nodiscard]] std::string read_text(std::uint64_t size) const;
  /// Reads records such as "20 path=boots/a.jpg\n".
  void read_records(std::uint64_t size, Extended& extended) const;
  /// Reads the content of an extension.
  void extend(char type, std::uint64_t size, Extended& extended) const;
  [[nodiscard]] Kind kind_of(char type, const std::string& name, bool sparse) const;
  void check_end() const;

  std::shared_ptr<const OpenFile> file_;
  std::function<bool()> stop_;
  std::uint64_t at_ = 0;  // the next header
};

/// Whether a path is a file that begins with a tar's header.
[[nodiscard]] bool is_tar(const std::filesystem::path& file);

/// The member that a path below a tar names, such as "shards/train.tar/a.jpg"; nullopt if no folder
/// of the path is a tar. Throws seam::Error if the tar has no such member.
[[nodiscard]] std::optional<FilePiece> find_member(const std::filesystem::path& path);

/// Opens a file. Throws seam::Error with the system's reason.
[[nodiscard]] std::shared_ptr<const OpenFile> open_file(const std::filesystem::path& path);

}  // namespace seam::stages
