/// A file that a flow leaves: whole, or not at all.
///
///     open ──► table.csv.part ──► commit ──► table.csv
///                    └──► gone where the flow fails
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include <seam/context.hpp>

namespace seam::stages {

class ExportedFile {
 public:
  ExportedFile() = default;
  /// Begins `file`, making its folders. Throws seam::Error with the system's reason.
  explicit ExportedFile(std::filesystem::path file);
  ~ExportedFile();
  ExportedFile(const ExportedFile&) = delete;
  ExportedFile& operator=(const ExportedFile&) = delete;
  ExportedFile(ExportedFile&& other) noexcept;
  ExportedFile& operator=(ExportedFile&& other) noexcept;

  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  /// Replaces the beginning of what was written.
  void rewrite_start(std::string_view text);
  /// All is on the disk now, still under the name of a part.
  void finish();
  /// Gives the finished file its name, in the place of an older one.
  void commit();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  [[nodiscard]] std::filesystem::path part() const;
  void check();

  std::filesystem::path path_;  // empty: nothing is under way
  std::ofstream stream_;
};

/// Which flow a stage writes the files of. A second flow would replace the files of the first.
class OneFlow {
 public:
  /// Throws seam::Error (configuration) for another flow than that of the calls before.
  void enter(const Context& context);

 private:
  std::string flow_;
};

/// `folder`, or the run's where it is empty or relative; `name`, or the stage's where that is
/// empty. Throws seam::Error (configuration) where there is no run's folder, and for names that are
/// paths.
std::filesystem::path export_path(const std::filesystem::path& folder, const std::string& name,
                                  const Context& context);

}  // namespace seam::stages
