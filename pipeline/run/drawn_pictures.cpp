#include "pipeline/run/drawn_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "pipeline/run/files.hpp"
#include "pipeline/text/json.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

/// Adds every "file" of the set, titled by the keys, numbers and titles on the way to it.
void collect_pictures(const Json& json, const std::string& title, const fs::path& folder,
                      std::vector<DrawnPicture>& pictures) {
  if (!json.is_object()) return;
  if (const auto file = json.find("file"); file != json.end()) {
    const fs::path path = file->get<std::string>();
    if (!stays_inside(path)) throw Error("'" + path.string() + "' is not in the run folder");
    pictures.push_back({title, folder / path});
  }
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) collect_pictures(value, title + "/" + key, folder, pictures);
    if (!value.is_array()) continue;
    std::size_t number = 0;
    for (const Json& element : value) {
      ++number;
      const std::string name = element.is_object() && element.contains("title")
                                   ? element.at("title").get<std::string>()
                                   : fmt::format("{} {}", key, number);
      collect_pictures(element, title + "/" + name, folder, pictures);
    }
  }
}

}  // namespace

bool stays_inside(const fs::path& file) {
  return !file.empty() && file.is_relative() &&
         std::ranges::none_of(file, [](const fs::path& part) { return part == ".."; });
}

DrawnPictures drawn_pictures(const fs::path& run, const std::string& flow, std::int64_t epoch) {
  DrawnPictures drawn;
  const fs::path root = run / "pictures";
  std::error_code error;
  std::set<fs::path> stages;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    stages.insert(entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    drawn.problems.push_back(fmt::format("cannot list '{}': {}", root.string(), error.message()));
  }
  for (const fs::path& stage : stages) {
    const fs::path file = stage / fmt::format("epoch-{:04}.json", epoch);
    if (!fs::exists(file, error)) continue;
    std::vector<DrawnPicture> pictures;
    try {
      const Json set = parse_json(read_text_file(file));
      if (set.at("flow").get<std::string>() != flow) continue;
      if (const Json& format = set.at("format"); format != 1) {
        throw Error("it has format " + json_line(format) + ", which this version does not know");
      }
      const std::string title = flow + "/" + stage.filename().string();
      const auto sheet = set.find("sheet");
      collect_pictures(sheet == set.end() ? set : Json{{"file", *sheet}}, title, stage, pictures);
    } catch (const Json::exception& problem) {
      drawn.problems.push_back(fmt::format("'{}': {}", file.string(), problem.what()));
      continue;
    } catch (const Error& problem) {
      drawn.problems.push_back(fmt::format("'{}': {}", file.string(), problem.what()));
      continue;
    }
    std::ranges::move(pictures, std::back_inserter(drawn.pictures));
  }
  return drawn;
}

}  // namespace seam::host
