#include "pipeline/plugins/manifest.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <seam/plugin.hpp>
#include <system_error>
#include <utility>

#include "pipeline/text/parse.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "SEAM PLUGIN\n";
constexpr std::string_view section_name = ".seam_manifest";
constexpr std::uint64_t largest_manifest = 1 << 20;
constexpr std::uint64_t largest_name_table = 16 << 20;

#if defined(__x86_64__)
constexpr std::uint16_t host_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t host_machine = EM_AARCH64;
#else
constexpr std::uint16_t host_machine = EM_NONE;  // not checked; the dynamic loader will
#endif

std::string machine_name(std::uint16_t machine) {
  constexpr std::array<std::pair<std::uint16_t, const char*>, 6> names{{{EM_X86_64, "x86-64"},
                                                                        {EM_AARCH64, "AArch64"},
                                                                        {EM_386, "32-bit x86"},
                                                                        {EM_ARM, "32-bit ARM"},
                                                                        {EM_RISCV, "RISC-V"},
                                                                        {EM_PPC64, "POWER"}}};
  for (const auto& [number, name] : names) {
    if (number == machine) return name;
  }
  return "machine number " + std::to_string(machine);
}

/// Reads a file in pieces, all of which must lie within it.
class Reader {
 public:
  Reader(std::ifstream stream, std::uint64_t size) : stream_(std::move(stream)), size_(size) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  bool read(std::uint64_t offset, void* target, std::uint64_t length) {
    if (!holds(offset, length)) return false;
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(length));
    return stream_.gcount() == static_cast<std::streamsize>(length);
  }
  std::optional<std::string> text(std::uint64_t offset, std::uint64_t length) {
    if (!holds(offset, length)) return std::nullopt;
    std::string bytes(length, '\0');
    if (!read(offset, bytes.data(), length)) return std::nullopt;
    return bytes;
  }

 private:
  std::ifstream stream_;
  std::uint64_t size_;
};

ManifestReading refused(std::string why) {
  return {{}, std::move(why), false};
}

ManifestReading other_library() {
  return {{}, {}, true};
}

ManifestReading truncated(const Reader& reader, const std::string& what) {
  return refused("it is truncated or damaged: its " + what + " lies outside its " +
                 std::to_string(reader.size()) + " bytes; build or copy it again");
}

/// Describes the beginning of a file that is not ELF, for the message.
std::string beginning(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, 24)) {
    if (c == '\n' || c == '\0') break;
    text += c >= ' ' && c < 0x7f ? c : '?';
  }
  return text.empty() ? std::string{} : ", it begins with '" + text + "'";
}

/// Returns the manifest's bytes, or why there are none.
ManifestReading find_section(Reader& reader, std::string& manifest_text) {
  Elf64_Ehdr header{};
  std::array<unsigned char, EI_NIDENT> ident{};
  if (reader.size() == 0) return refused("it is empty; build or copy it again");
  const std::uint64_t head = std::min<std::uint64_t>(reader.size(), ident.size());
  if (!reader.read(0, ident.data(), head)) return refused("it cannot be read");
  if (head < SELFMAG || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) {
    const auto bytes = reader.text(0, std::min<std::uint64_t>(reader.size(), 24));
    return refused("it is not a shared library (ELF)" + beginning(bytes.value_or("")));
  }
  if (!reader.read(0, &header, sizeof(header))) return truncated(reader, "ELF header");
  if (ident[EI_CLASS] != ELFCLASS64) {
    return refused("it is a 32-bit library; this program loads 64-bit ones");
  }
  if (ident[EI_DATA] != ELFDATA2LSB) {
    return refused("it is a big-endian library; this program loads little-endian ones");
  }
  if (host_machine != EM_NONE && header.e_machine != host_machine) {
    return refused("it was built for " + machine_name(header.e_machine) + ", this program for " +
                   machine_name(host_machine) + "; build the plugin on this kind of machine");
  }
  if (header.e_type != ET_DYN) {
    return refused("it is an ELF file but not a shared library; link it with -shared");
  }
  if (header.e_shoff == 0) return other_library();  // stripped of section headers altogether
  if (header.e_shentsize != sizeof(Elf64_Shdr)) {
    return refused("its section headers have an unknown size; build it again");
  }
  // Large counts move into the first section header.
  Elf64_Shdr first{};
  if (!reader.read(header.e_shoff, &first, sizeof(first))) {
    return truncated(reader, "table of sections");
  }
  const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  const std::uint64_t names_at =
      header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
  constexpr std::uint64_t most_sections = 1 << 20;
  if (count > most_sections || !reader.holds(header.e_shoff, count * sizeof(Elf64_Shdr))) {
    return truncated(reader, "table of sections");
  }
  std::vector<Elf64_Shdr> sections(count);
  if (!reader.read(header.e_shoff, sections.data(), count * sizeof(Elf64_Shdr)) ||
      names_at >= count) {
    return truncated(reader, "table of sections");
  }
  const Elf64_Shdr& name_section = sections[names_at];
  if (name_section.sh_size > largest_name_table) return truncated(reader, "table of names");
  const auto names = reader.text(name_section.sh_offset, name_section.sh_size);
  if (!names) return truncated(reader, "table of names");
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= names->size()) continue;
    const std::string_view rest = std::string_view(*names).substr(section.sh_name);
    if (rest.substr(0, rest.find('\0')) != section_name) continue;
    if (section.sh_type == SHT_NOBITS) {
      return refused("it contains only debug information; use the plugin itself");
    }
    if (section.sh_size > largest_manifest) return truncated(reader, "manifest");
    auto text = reader.text(section.sh_offset, section.sh_size);
    if (!text) return truncated(reader, "manifest");
    manifest_text = std::move(*text);
    return {};
  }
  return other_library();
}

/// "2.13" of "2.13.0+cpu".
std::string_view major_minor(std::string_view version) {
  const std::size_t major = version.find('.');
  if (major == std::string_view::npos) return version;
  return version.substr(0, version.find_first_not_of("0123456789", major + 1));
}

/// "cpu" of "2.13.0+cpu".
std::string_view build_of(std::string_view version) {
  const std::size_t plus = version.find('+');
  return plus == std::string_view::npos ? std::string_view() : version.substr(plus + 1);
}

/// Whether one library can serve both.
bool interchangeable(std::string_view a, std::string_view b) {
  const bool same_build = build_of(a).empty() || build_of(b).empty() || build_of(a) == build_of(b);
  return major_minor(a) == major_minor(b) && same_build;
}

}  // namespace

ManifestReading parse_manifest(std::string_view text) {
  if (!text.starts_with(magic)) {
    return refused("its manifest does not begin with 'SEAM PLUGIN'; build it again");
  }
  text.remove_prefix(magic.size());
  text = text.substr(0, text.find('\0'));
  std::map<std::string, std::string, std::less<>> values;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    values[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  ManifestReading reading;
  Manifest& manifest = reading.manifest;
  const std::array<std::pair<const char*, std::string*>, 6> wanted{
      {{"sdk", &manifest.sdk},
       {"compiler", &manifest.compiler},
       {"stdlib", &manifest.stdlib},
       {"sanitizer", &manifest.sanitizer},
       {"libtorch", &manifest.libtorch},
       {"opencv", &manifest.opencv}}};
  for (const auto& [key, target] : wanted) {
    const auto found = values.find(key);
    if (found == values.end()) {
      return refused("its manifest does not contain '" + std::string(key) +
                     "'; rebuild it against this SDK");
    }
    *target = found->second;
  }
  const auto stages = values.find("stages");
  if (stages == values.end()) {
    return refused("its manifest lists no stages; rebuild it against this SDK");
  }
  for (const std::string_view stage : split(stages->second, ' ')) {
    if (!stage.empty()) manifest.stages.emplace_back(stage);
  }
  return reading;
}

ManifestReading read_manifest(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) {
    if (error && error != std::errc::no_such_file_or_directory) {
      return refused("it cannot be examined: " + error.message());
    }
    return refused("there is no such file");
  }
  if (fs::is_directory(status)) return refused("it is a folder, not a plugin");
  if (!fs::is_regular_file(status)) return refused("it is not a regular file");
  const std::uintmax_t size = fs::file_size(file, error);
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream) {
    const int reason = error ? error.value() : errno;
    return refused("it cannot be read: " + std::generic_category().message(reason));
  }
  Reader reader(std::move(stream), size);
  std::string text;
  ManifestReading reading = find_section(reader, text);
  if (!reading.refusal.empty() || reading.other_library) return reading;
  return parse_manifest(text);
}

Manifest host_manifest() {
  return parse_manifest(seam::detail::manifest_head).manifest;
}

std::string mismatch(const Manifest& plugin, const Manifest& host) {
  const auto differs = [](const std::string& what, const std::string& theirs,
                          const std::string& ours, const std::string& remedy) {
    return "it was built " + what + " " + theirs + ", this program " + what + " " + ours + "; " +
           remedy;
  };
  if (plugin.sdk != host.sdk) {
    return differs("for SDK number", plugin.sdk, host.sdk,
                   "rebuild the plugin against this program's SDK");
  }
  if (plugin.compiler != host.compiler) {
    return differs("by", plugin.compiler, host.compiler,
                   "rebuild the plugin with " + host.compiler);
  }
  if (plugin.stdlib != host.stdlib) {
    return differs("with", plugin.stdlib, host.stdlib,
                   "rebuild the plugin with the same -D_GLIBCXX_ settings");
  }
  if (plugin.sanitizer != host.sanitizer) {
    return differs("with sanitizer", plugin.sanitizer, host.sanitizer,
                   "rebuild the plugin with the same -fsanitize");
  }
  return {};
}

std::string library_conflict(const Manifest& plugin, const fs::path& file, const Manifest& loaded,
                             const fs::path& loaded_file) {
  const auto conflict = [&](const std::string& library, const std::string& theirs,
                            const std::string& ours) -> std::string {
    if (theirs == "none" || ours == "none" || interchangeable(theirs, ours)) return {};
    return "plugin '" + file.string() + "' was built with " + library + " " + theirs + ", and '" +
           loaded_file.string() + "' with " + ours +
           "; rebuild one of them, since a process can hold only one " + library;
  };
  const std::string torch = conflict("LibTorch", plugin.libtorch, loaded.libtorch);
  return !torch.empty() ? torch : conflict("OpenCV", plugin.opencv, loaded.opencv);
}

}  // namespace seam::host
