#include "stages/export/exported_file.hpp"

#include <cerrno>
#include <system_error>

namespace seam::stages {
namespace fs = std::filesystem;
namespace {

Error cannot_write(const fs::path& file, const std::error_code& reason) {
  return Error("'" + file.string() + "' cannot be written: " + reason.message());
}

}  // namespace

ExportedFile::ExportedFile(fs::path file) : path_(std::move(file)) {
  std::error_code error;
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), error);
  if (error) throw cannot_write(path_, error);
  if (fs::is_directory(path_, error)) {
    throw cannot_write(path_, std::make_error_code(std::errc::is_a_directory));
  }
  stream_.open(part(), std::ios::binary | std::ios::trunc);
  check();
}

ExportedFile::~ExportedFile() {
  if (path_.empty()) return;
  stream_.close();
  std::error_code ignored;
  fs::remove(part(), ignored);
}

ExportedFile::ExportedFile(ExportedFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), stream_(std::move(other.stream_)) {}

ExportedFile& ExportedFile::operator=(ExportedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(stream_, other.stream_);
  return *this;
}

fs::path ExportedFile::part() const {
  return path_.string() + ".part";
}

void ExportedFile::check() {
  if (stream_) return;
  throw cannot_write(path_, {errno, std::generic_category()});
}

void ExportedFile::write(std::string_view text) {
  stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
  check();
}

void ExportedFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void ExportedFile::rewrite_start(std::string_view text) {
  stream_.seekp(0);
  write(text);
}

void ExportedFile::finish() {
  stream_.close();
  check();
}

void ExportedFile::commit() {
  std::error_code error;
  fs::rename(part(), path_, error);
  if (error) throw cannot_write(path_, error);
  path_.clear();
}

void export_file(const fs::path& file, std::string_view content) {
  export_file(file, std::as_bytes(std::span(content)));
}

void export_file(const fs::path& file, std::span<const std::byte> content) {
  ExportedFile exported(file);
  exported.write(content);
  exported.finish();
  exported.commit();
}

void OneFlow::enter(const Context& context) {
  if (flow_.empty()) flow_ = context.flow();
  if (flow_ == context.flow()) return;
  throw Error(
      "stage '" + std::string(context.stage()) + "' is in the flows '" + flow_ + "' and '" +
          std::string(context.flow()) +
          "', and the second would replace the files of the first; give each flow a separate stage",
      Fault::configuration);
}

fs::path export_path(const fs::path& folder, const Context& context) {
  if (!folder.is_absolute() && context.run_directory().empty()) {
    throw Error("the run has no run folder; give an absolute path as 'folder'",
                Fault::configuration);
  }
  return context.run_directory() / folder / context.stage();  // an absolute folder is used as is
}

}  // namespace seam::stages
