/// A file that a flow writes: complete, or not at all.
///
///     open ──► table.csv.part ──► commit ──► table.csv
///                    └──► removed if the flow fails
#pragma once

#include <fstream>

#include <seam/context.hpp>

namespace seam::stages {

class ExportedFile {
 public:
  ExportedFile() = default;
  /// Begins `file`, creating its folders. Throws seam::Error with the system's reason.
  explicit ExportedFile(std::filesystem::path file);
  ~ExportedFile();
  ExportedFile(const ExportedFile&) = delete;
  ExportedFile& operator=(const ExportedFile&) = delete;
  ExportedFile(ExportedFile&& other) noexcept;
  ExportedFile& operator=(ExportedFile&& other) noexcept;

  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  /// Replaces the beginning of the written content.
  void rewrite_start(std::string_view text);
  /// Completes the content on disk, still under the temporary name.
  void finish();
  /// Gives the finished file its name, replacing an older one.
  void commit();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  [[nodiscard]] std::filesystem::path part() const;
  void check();

  std::filesystem::path path_;  // empty: no file in progress
  std::ofstream stream_;
};

/// Writes a file of this content, or none.
void export_file(const std::filesystem::path& file, std::span<const std::byte> content);
void export_file(const std::filesystem::path& file, std::string_view content);

/// The flow whose files a stage writes. A second flow would replace the files of the first.
class OneFlow {
 public:
  /// Throws seam::Error (configuration) if the flow differs from that of the previous calls.
  void enter(const Context& context);

 private:
  std::string flow_;
};

/// A path in `folder`, which is relative to the run folder, named after the stage, so that no two
/// stages of a run write the same file. Throws seam::Error (configuration) if a run folder is
/// needed but missing.
std::filesystem::path export_path(const std::filesystem::path& folder, const Context& context);

}  // namespace seam::stages
