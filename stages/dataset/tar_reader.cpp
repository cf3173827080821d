#include "stages/dataset/tar_reader.hpp"

#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "stages/counted.hpp"
#include "stages/dataset/counted_list.hpp"
#include "stages/number_in.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max() / 2;

/// Places in a header.
struct Place {
  std::size_t at;
  std::size_t size;
};
constexpr Place name_place{0, 100};
constexpr Place size_place{124, 12};
constexpr Place sum_place{148, 8};
constexpr std::size_t type_at = 156;
constexpr Place magic_place{257, 6};
constexpr Place prefix_place{345, 155};

std::string_view bytes_at(std::string_view header, Place place) {
  return header.substr(place.at, place.size);
}

std::string_view text_at(std::string_view header, Place place) {
  const std::string_view bytes = bytes_at(header, place);
  return bytes.substr(0, bytes.find('\0'));
}

/// In octal digits, or, if the first bit is set, in base 256.
std::optional<std::uint64_t> number_at(std::string_view header, Place place) {
  std::string_view bytes = bytes_at(header, place);
  constexpr unsigned char base_256 = 0x80;
  std::uint64_t number = 0;
  if (const auto first = static_cast<unsigned char>(bytes.front()); first >= base_256) {
    if (first != base_256) return std::nullopt;  // negative, or above 2^88
    for (const char c : bytes.substr(1)) {
      if (number > most_bytes >> 8U) return std::nullopt;
      number = number << 8U | static_cast<unsigned char>(c);
    }
    return number;
  }
  bytes.remove_prefix(std::min(bytes.find_first_not_of(' '), bytes.size()));
  const std::string_view digits = bytes.substr(0, bytes.find_first_not_of("01234567"));
  bytes.remove_prefix(digits.size());
  if (bytes.find_first_not_of(std::string_view(" \0", 2)) != std::string_view::npos) return {};
  for (const char digit : digits) number = number << 3U | static_cast<std::uint64_t>(digit - '0');
  return number;
}

/// The sum of a header's bytes with blanks for the sum itself; old programs added signed bytes.
bool has_right_sum(std::string_view header) {
  const auto sum_of = [&]<class Byte>(Byte /*type*/) {
    const auto add = [](std::int64_t sum, char c) { return sum + static_cast<Byte>(c); };
    const std::string_view own = bytes_at(header, sum_place);
    return std::accumulate(header.begin(), header.end(), std::int64_t{0}, add) -
           std::accumulate(own.begin(), own.end(), std::int64_t{0}, add) +
           static_cast<std::int64_t>(sum_place.size) * ' ';
  };
  const auto sum = number_at(header, sum_place);
  if (!sum) return false;
  const auto known = static_cast<std::int64_t>(*sum);
  return known == sum_of(static_cast<unsigned char>(0)) ||
         known == sum_of(static_cast<signed char>(0));
}

std::string name_in(std::string_view header) {
  std::string name(text_at(header, name_place));
  // In GNU's format, other values are at the place of the prefix.
  const bool posix = bytes_at(header, magic_place) == std::string_view("ustar\0", 6);
  const std::string_view prefix = text_at(header, prefix_place);
  return posix && !prefix.empty() ? std::string(prefix) + "/" + name : name;
}

}  // namespace

void TarReader::fail(const std::string& what) const {
  throw Error(file_->name() + ": at byte " + std::to_string(at_) + ": " + what);
}

TarReader::Header TarReader::read_header() const {
  if (file_->size() < at_ + block) {
    fail(
        "the tar is truncated: there is neither a header nor the zeros that end a tar, and the "
        "file has " +
        counted(static_cast<std::int64_t>(file_->size()), "byte") + "; fetch or pack it again");
  }
  Header header{};
  file_->read(at_, header.data(), header.size());
  return header;
}

std::string TarReader::read_text(std::uint64_t size) const {
  constexpr std::uint64_t most = 1U << 20U;
  if (size > most) fail("an extended header has more than 1 MiB; the tar is damaged");
  std::string text(static_cast<std::size_t>(size), '\0');
  file_->read(at_ + block, text.data(), text.size());
  return text;
}

void TarReader::read_records(std::uint64_t size, Extended& extended) const {
  const std::string text = read_text(size);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t blank = rest.find(' ');
    const auto length = number_in<std::size_t>(rest.substr(0, blank));
    const bool whole = length && *length > blank && *length <= rest.size();
    const std::string_view record = whole ? rest.substr(blank + 1, *length - blank - 1) : "";
    const std::size_t equals = record.find('=');
    if (!record.ends_with('\n') || equals == std::string_view::npos) {
      fail("a pax record is damaged");
    }
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1, record.size() - equals - 2);
    if (key == "path") extended.name = value.empty() ? std::nullopt : std::optional(value);
    if (key == "size") {
      extended.size = whole_number(value);
      if (!extended.size) fail("the pax record 'size' is " + in_quotes(value));
    }
    if (key.starts_with("GNU.sparse.")) extended.sparse = true;
    rest.remove_prefix(*length);
  }
}

void TarReader::extend(char type, std::uint64_t size, Extended& extended) const {
  if (type == 'L') {
    const std::string text = read_text(size);
    extended.name = text.substr(0, text.find('\0'));
  } else if (type == 'x' || type == 'X') {
    read_records(size, extended);
  } else if (type == 'g') {
    Extended all;
    read_records(size, all);
    if (all.name || all.size) fail("a pax header gives all members one name or size");
  }
}

TarReader::Kind TarReader::kind_of(char type, const std::string& name, bool sparse) const {
  const char* problem = "has an unknown type; pack it as a file";
  switch (type) {
    case '0':
    case '\0':
    case '7':
      if (!sparse) return name.ends_with('/') ? Kind::empty : Kind::file;
      [[fallthrough]];
    case 'S':
      problem = "is sparse; pack it without --sparse";
      break;
    case 'L':  // GNU: a long name
    case 'K':  // GNU: a long name of a link
    case 'x':
    case 'X':
    case 'g':
      return Kind::extension;
    case 'D':  // GNU: the names in a folder
    case 'V':  // GNU: the name of the tar
      return Kind::other;
    case '3':
    case '4':
    case '5':
    case '6':
      return Kind::empty;
    case '1':
      problem = "is a link; pack the file itself, with tar --hard-dereference";
      break;
    case '2':
      problem = "is a link; pack the file itself, with tar --dereference";
      break;
    case 'M':
      problem = "continues in another volume; pack it in one file";
      break;
    default:
      break;
  }
  fail(in_quotes(name) + " " + problem);
}

std::optional<TarMember> TarReader::next() {
  Extended extended;
  bool is_extended = false;
  while (true) {
    if (stop_ && stop_()) throw Error("stopped while reading " + file_->name(), Fault::cancelled);
    const Header header = read_header();
    const std::string_view view(header.data(), header.size());
    if (view.find_first_not_of('\0') == std::string_view::npos) {
      if (is_extended) fail("a member is missing after its extended header");
      check_end();
      return std::nullopt;
    }
    if (!has_right_sum(view)) {
      fail("the header's checksum is wrong; " +
           std::string(
               at_ == 0 ? "this is not a tar, or it is compressed or damaged: decompress it first"
                        : "the tar is damaged"));
    }
    const char type = header[type_at];
    std::string name = extended.name ? *extended.name : name_in(view);
    if (name.starts_with("./") && name != "./") name.erase(0, 2);  // from `tar -C folder .`
    const Kind kind = kind_of(type, name, extended.sparse);
    std::uint64_t size = 0;
    if (kind != Kind::empty) {
      const auto own = number_at(view, size_place);
      if (!own) fail(in_quotes(name) + " has no valid size");
      const bool given = kind == Kind::file && extended.size;
      size = given ? static_cast<std::uint64_t>(*extended.size) : *own;
    }
    if (size > file_->size() || at_ + block > file_->size() - size) {
      fail(in_quotes(name) + " has " + counted(static_cast<std::int64_t>(size), "byte") +
           ", but the file ends before that; the tar is truncated or damaged: fetch or pack it "
           "again");
    }
    const bool valid = stays_below_root(name) && name.find('\0') == std::string::npos;
    if (kind == Kind::file && !valid) {
      fail("the name " + in_quotes(name) +
           " is empty or absolute, or has empty, '.' or '..' folders or a zero; pack it with a "
           "relative name");
    }
    is_extended = kind == Kind::extension;
    if (is_extended) extend(type, size, extended);
    const std::uint64_t content = at_ + block;
    at_ = content + (size + block - 1) / block * block;
    if (kind == Kind::file) return TarMember{std::move(name), {file_, content, size}};
    if (!is_extended) extended = {};
  }
}

void TarReader::check_end() const {
  constexpr std::uint64_t most = 1U << 20U;
  const std::uint64_t rest = file_->size() - at_;
  std::string zeros(static_cast<std::size_t>(std::min(rest, most)), '\0');
  file_->read(at_, zeros.data(), zeros.size());
  const std::size_t data = zeros.find_first_not_of('\0');
  if (data != std::string::npos) {
    fail("the tar ends, but data follows at byte " + std::to_string(at_ + data) +
         "; if several tars were put together, list each of them in 'tar'");
  }
  if (rest > most) {
    fail("the tar ends, but " + counted(static_cast<std::int64_t>(rest), "byte") +
         " follow; it may be incomplete: fetch it again");
  }
}

bool is_tar(const fs::path& file) {
  std::error_code fault;
  if (!fs::is_regular_file(file, fault)) return false;
  std::string header(512, '\0');
  const auto open = open_file(file);
  if (open->size() < header.size()) return false;
  open->read(0, header.data(), header.size());
  return has_right_sum(header);
}

std::optional<FilePiece> find_member(const fs::path& path) {
  std::error_code fault;
  for (fs::path tar = path.parent_path(); tar.has_relative_path(); tar = tar.parent_path()) {
    if (!fs::exists(tar, fault)) continue;
    if (!is_tar(tar)) break;
    const std::string name = path.lexically_relative(tar).generic_string();
    TarReader reader(open_file(tar));
    while (const auto member = reader.next()) {
      if (member->name == name) return member->content;
    }
    throw Error("'" + tar.string() + "' has no member " + in_quotes(name));
  }
  return std::nullopt;
}

std::shared_ptr<const OpenFile> open_file(const fs::path& path) {
  return std::make_shared<const OpenFile>(::open(path.c_str(), O_RDONLY | O_CLOEXEC),
                                          path.string());
}

}  // namespace seam::stages
