#include "pipeline/run/rank_folder.hpp"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <cerrno>
#include <string>
#include <system_error>

#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;

RankFolder::RankFolder() {
  std::string name = (fs::temp_directory_path() / "seam-rank-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error("cannot create '" + name + "': " + std::generic_category().message(errno));
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
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path place = to / entry.path().filename();
    if (entry.path().filename() != "checkpoints") {
      fs::copy(entry.path(), place, fs::copy_options::recursive);
      continue;
    }
    fs::create_directory(place);
    for (const auto& file : fs::directory_iterator(entry.path())) {
      fs::create_symlink(file.path(), place / file.path().filename());
    }
  }
  return to;
}

}  // namespace seam::host
