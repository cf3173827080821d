#include "stages/dataset/idx_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <seam/error.hpp>
#include <span>
#include <system_error>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

constexpr std::int64_t most_array_bytes = std::int64_t{1}
                                          << 34;  // 16 GiB, larger than any data set in this format

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};

/// A file's content, decompressed if necessary.
class Content {
 public:
  explicit Content(const std::filesystem::path& file)
      : name_(file.string()), file_(gzopen(file.c_str(), "rb")) {
    if (file_ == nullptr) {
      throw Error("the file '" + name_ + "' cannot be read; check its permissions");
    }
  }

  /// Fills the bytes and returns their number, which is smaller only at the end of the file.
  std::size_t read(std::span<std::uint8_t> bytes) {
    constexpr std::size_t portion = std::size_t{1} << 20;
    std::size_t done = 0;
    while (done < bytes.size()) {
      const std::size_t wanted = std::min(portion, bytes.size() - done);
      const int got = gzread(file_.get(), bytes.data() + done, static_cast<unsigned>(wanted));
      int fault = Z_OK;
      const char* text = gzerror(file_.get(), &fault);
      if (got < 0 || (fault != Z_OK && fault != Z_STREAM_END)) {
        throw Error("the file '" + name_ + "' is damaged or truncated: " +
                    (fault == Z_ERRNO ? "it cannot be read" : text) + "; download it again");
      }
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  std::string name_;
  std::unique_ptr<gzFile_s, Close> file_;
};

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

/// The values after the header. Memory grows with the actual content, not with the declared sizes.
std::vector<std::uint8_t> read_values(Content& content, std::size_t count) {
  constexpr std::size_t portion = std::size_t{64} << 20;
  std::vector<std::uint8_t> values;
  while (values.size() < count) {
    const std::size_t before = values.size();
    values.resize(std::min(count, before + portion));
    const std::size_t got = content.read(std::span(values).subspan(before));
    if (before + got < values.size()) {
      values.resize(before + got);
      break;
    }
  }
  return values;
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& file, int dimensions, const std::string& what) {
  const std::string name = file.string();
  std::error_code fault;
  if (!std::filesystem::is_regular_file(file, fault)) {
    throw Error("no file '" + name + "' with " + what + " in the idx format");
  }
  Content content(file);
  std::array<std::uint8_t, 4> word{};
  if (content.read(word) < word.size() || word[0] != 0 || word[1] != 0) {
    throw Error("'" + name +
                "' is not an idx file: it does not begin with two zero bytes, a type and a number "
                "of dimensions");
  }
  constexpr int unsigned_bytes = 8;
  if (word[2] != unsigned_bytes || word[3] != dimensions) {
    throw Error("'" + name + "' holds values of type " + std::to_string(word[2]) + " in " +
                counted(std::int64_t{word[3]}, "dimension") + ", but " + what +
                " are of type 8 (unsigned bytes) in " +
                counted(std::int64_t{dimensions}, "dimension") +
                "; were the image and label files swapped?");
  }
  IdxArray array;
  std::int64_t count = 1;
  for (int i = 0; i < dimensions; ++i) {
    if (content.read(word) < word.size()) {
      throw Error("'" + name + "' ends within its header; download it again");
    }
    std::int64_t size = 0;
    for (const std::uint8_t byte : word) size = 256 * size + byte;
    array.sizes.push_back(size);
    if (size == 0 || count > most_array_bytes / size) {
      throw Error("'" + name + "' declares the sizes " + sizes_text(array.sizes) +
                  (size == 0 ? ": it is empty" : ": more than 16 GiB, so it is damaged"));
    }
    count *= size;
  }
  array.values = read_values(content, static_cast<std::size_t>(count));
  const auto found = static_cast<std::int64_t>(array.values.size());
  if (found < count) {
    throw Error("'" + name + "' is truncated: its sizes are " + sizes_text(array.sizes) + ", " +
                counted(count, "byte") + ", but " + grouped(found) + " follow; download it again");
  }
  if (std::array<std::uint8_t, 1> further{}; content.read(further) > 0) {
    throw Error("'" + name + "' is longer than its declared sizes, " + sizes_text(array.sizes) +
                "; it is damaged or not an idx file");
  }
  return array;
}

}  // namespace seam::stages
