#include "stages/image/read_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include <seam/error.hpp>

namespace seam::stages {
namespace {

struct Close {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw Error("'" + path.string() + "' cannot be read: " + why +
              "; check the path, the list's root, and the file's permissions");
}

std::string system_reason() {
  return std::generic_category().message(errno);
}

}  // namespace

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) refuse(path, "it is a folder");
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) refuse(path, system_reason());
  // The size is only an estimate: it is 0 for pipes, and files may grow.
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::vector<std::uint8_t> bytes(error ? 0 : static_cast<std::size_t>(size));
  std::size_t filled = 0;
  while (true) {
    filled += std::fread(bytes.data() + filled, 1, bytes.size() - filled, file.get());
    if (std::ferror(file.get()) != 0) refuse(path, system_reason());
    if (filled < bytes.size()) break;
    const int next = std::fgetc(file.get());
    if (next == EOF) break;
    bytes.resize(std::max<std::size_t>(2 * bytes.size(), 65536));
    bytes[filled++] = static_cast<std::uint8_t>(next);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace seam::stages
