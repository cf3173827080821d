#include "pipeline/run/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

Error system_fault(const std::string& what, const fs::path& path, int number = errno) {
  return path_fault(what, path, {number, std::generic_category()});
}

/// A new name in a folder is only safe once the folder itself is on the disk.
void sync_folder_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  Descriptor folder(parent.empty() ? fs::path(".") : parent, O_RDONLY | O_DIRECTORY);
  // Some file systems cannot sync a folder and report an error; the rename is done anyway.
  ::fsync(folder.number());
}

/// The process id that the holder of a lock wrote to its file.
std::string process_in(const Descriptor& file) {
  std::array<char, 32> holder{};
  const ssize_t count = ::read(file.number(), holder.data(), holder.size() - 1);
  return {holder.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

}  // namespace

Error path_fault(const std::string& what, const fs::path& path, const std::error_code& error) {
  return Error(what + " '" + path.string() + "': " + error.message());
}

Descriptor::Descriptor(const fs::path& path, int flags) : path_(path) {
  constexpr mode_t mode = 0666;  // less the umask
  do {
    number_ = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (number_ < 0 && errno == EINTR);
  if (number_ < 0) throw system_fault("cannot open", path);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)), path_(std::move(other.path_)) {}

void Descriptor::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(number_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw system_fault("cannot write", path_);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void Descriptor::sync() {
  // EINVAL: a pipe or a device, which has nothing to wait for.
  if (::fsync(number_) != 0 && errno != EINVAL) throw system_fault("cannot sync", path_);
}

void Descriptor::close() {
  const int number = std::exchange(number_, -1);
  if (number >= 0 && ::close(number) != 0) throw system_fault("cannot close", path_);
}

WholeFile::WholeFile(const fs::path& path)
    : path_(path), part_(path.string() + ".part"), file_(part_, O_WRONLY | O_CREAT | O_TRUNC) {}

WholeFile::~WholeFile() {
  if (committed_) return;
  std::error_code ignored;  // nothing can be done, and the name shows that the file is incomplete
  fs::remove(part_, ignored);
}

void WholeFile::commit() {
  file_.sync();
  file_.close();
  if (::rename(part_.c_str(), path_.c_str()) != 0) throw system_fault("cannot create", path_);
  committed_ = true;
  sync_folder_of(path_);
}

void write_whole_file(const fs::path& path, std::string_view text) {
  WholeFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

std::vector<std::byte> read_file(const fs::path& path) {
  const Descriptor file(path, O_RDONLY);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw system_fault("cannot examine", path);
  if (S_ISDIR(status.st_mode)) throw system_fault("cannot read", path, EISDIR);
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count = ::read(file.number(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_fault("cannot read", path);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  bytes.resize(filled);
  return bytes;
}

std::string read_text_file(const fs::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

LineFile::LineFile(const fs::path& path, std::uint64_t size)
    : file_(path, O_WRONLY | O_CREAT | O_APPEND), size_(size) {
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) throw system_fault("cannot examine", path);
  if (static_cast<std::uint64_t>(status.st_size) < size) {
    throw Error("'" + path.string() + "' has " + std::to_string(status.st_size) +
                " bytes, but the run had written " + std::to_string(size) +
                "; it was truncated after the run wrote it");
  }
  if (::ftruncate(file_.number(), static_cast<off_t>(size)) != 0) {
    throw system_fault("cannot truncate", path);
  }
}

void LineFile::append(std::string_view lines) {
  try {
    file_.write(std::as_bytes(std::span(lines)));
  } catch (const Error&) {
    // Half a line would make the file unreadable. If truncating also fails, the first error counts.
    if (::ftruncate(file_.number(), static_cast<off_t>(size_)) != 0) errno = 0;
    throw;
  }
  size_ += lines.size();
}

FolderLock::FolderLock(const fs::path& folder) : file_(folder / "lock", O_RDWR | O_CREAT) {
  while (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) throw system_fault("cannot lock", file_.path());
    // holder() takes a shared lock for a moment: try again.
    if (::flock(file_.number(), LOCK_SH | LOCK_NB) == 0) continue;
    const std::string process = process_in(file_);
    refuse("'{}' is in use by another run{}; wait for it, or choose another folder with --run-dir",
           folder.string(), process.empty() ? std::string() : " (process " + process + ")");
  }
  const std::string process = std::to_string(::getpid());
  if (::ftruncate(file_.number(), 0) != 0) throw system_fault("cannot write", file_.path());
  file_.write(std::as_bytes(std::span(process)));
}

std::optional<std::string> FolderLock::holder(const fs::path& folder) {
  const fs::path path = folder / "lock";
  if (!fs::exists(path)) return std::nullopt;
  const Descriptor file(path, O_RDONLY);
  if (::flock(file.number(), LOCK_SH | LOCK_NB) == 0) return std::nullopt;
  if (errno != EWOULDBLOCK) throw system_fault("cannot examine", path);
  return process_in(file);
}

}  // namespace seam::host
