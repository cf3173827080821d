#include "pipeline/run/rank_folder.hpp"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "pipeline/text/lists.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

/// Whether a run that is resumed reads the file; checkpoints apart.
bool is_read_by_a_resume(const fs::path& name) {
  constexpr std::array<std::string_view, 5> files{"resolved.toml", "metrics.jsonl", "timing.jsonl",
                                                  "skipped.jsonl", "summary.json"};
  return contains(files, name.string()) || name.string().starts_with("events.out.tfevents.");
}

}  // namespace

RankFolder::RankFolder() {
  std::error_code missing;
  std::string name = (fs::temp_directory_path(missing) / "seam-rank-XXXXXX").string();
  if (missing || ::mkdtemp(name.data()) == nullptr) {
    const std::string why = missing ? missing.message() : std::generic_category().message(errno);
    throw Error("cannot create a temporary folder: " + why +
                "; set TMPDIR to a folder that exists and can be written to");
  }
  folder_ = name;
}

RankFolder::~RankFolder() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

fs::path RankFolder::copy_of(const fs::path& run) const {
  const fs::path from = fs::canonical(run);
  const fs::path to = empty();
  fs::create_directories(to / "checkpoints");
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path name = entry.path().filename();
    if (is_read_by_a_resume(name)) fs::copy_file(entry.path(), to / name);
  }
  if (!fs::exists(from / "checkpoints")) return to;
  for (const auto& file : fs::directory_iterator(from / "checkpoints")) {
    fs::create_symlink(file.path(), to / "checkpoints" / file.path().filename());
  }
  return to;
}

}  // namespace seam::host
