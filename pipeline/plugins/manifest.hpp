/// A plugin's manifest, which can be read without loading the plugin: the text in its section
/// `.seam_manifest`.
///
///     libfoo.so                      SEAM PLUGIN
///     ├ ELF header                   sdk=1
///     ├ .text ...                    compiler=gcc 12
///     ├ .seam_manifest ────────►     stdlib=libstdc++ abi1
///     └ section headers              sanitizer=none
///                                    libtorch=2.13.0+cpu
///                                    opencv=none
///                                    stages=image.decode image.resize
///
/// The file is untrusted: no code of it runs, and every number in it is checked.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace seam::host {

struct Manifest {
  std::string sdk;
  std::string compiler;   ///< family and major version
  std::string stdlib;     ///< standard library and its ABI
  std::string sanitizer;  ///< "none", "address" or "thread"
  std::string libtorch;   ///< version and build, "2.13.0+cpu" or "2.13.0+cuda"; or "none"
  std::string opencv;     ///< version, or "none"
  std::vector<std::string> stages;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// The result of reading a file: exactly one of the three.
struct ManifestReading {
  Manifest manifest;           ///< if the other two are unset
  std::string refusal;         ///< a sentence on why the file cannot be used; empty if it can
  bool other_library = false;  ///< a valid shared library that is not a Seam plugin
};

/// Reads a file's manifest; never throws because of the file's content.
ManifestReading read_manifest(const std::filesystem::path& file);

/// Reads the text of a manifest: key=value lines; unknown keys are ignored.
ManifestReading parse_manifest(std::string_view text);

/// The build properties of this program; its manifest has no stages and no libraries.
Manifest host_manifest();

/// One sentence on why this host must not load the plugin, with both values and what to do; empty
/// if it may.
std::string mismatch(const Manifest& plugin, const Manifest& host);

/// The same for two plugins in one process: LibTorch and OpenCV must agree in major.minor, and
/// LibTorch in whether it is built for CUDA, since two copies would be loaded side by side.
std::string library_conflict(const Manifest& plugin, const std::filesystem::path& file,
                             const Manifest& loaded, const std::filesystem::path& loaded_file);

}  // namespace seam::host
