#include "pipeline/report/pictures.hpp"

#include <openssl/evp.h>

#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "pipeline/run/drawn_pictures.hpp"
#include "pipeline/run/files.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

std::string data_uri(const fs::path& file) {
  const std::string ending = file.extension().string();
  const std::string type = ending == ".png" ? "png" : "jpeg";
  return "data:image/" + type + ";base64," + base64(read_file(file));
}

/// Replaces every "file" by the image itself, or by the reason why it is missing.
void put_pictures_in(Json& json, const fs::path& folder) {
  if (json.is_object() && json.contains("file")) {
    try {
      const fs::path file = json.at("file").get<std::string>();
      if (!stays_inside(file)) throw Error("'" + file.string() + "' is not in the run's folder");
      json["picture"] = data_uri(folder / file);
    } catch (const Error& error) {
      json["problem"] = error.what();
    }
    json.erase("file");
  }
  if (!json.is_structured()) return;
  for (auto& inner : json) put_pictures_in(inner, folder);
}

/// The last by number: a longer name has the larger number.
std::optional<fs::path> newest_set(const fs::path& folder) {
  std::optional<fs::path> newest;
  const auto rank = [](const fs::path& file) {
    return std::tuple(file.string().size(), file.string());
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".json") continue;
    if (!newest || rank(file) > rank(*newest)) newest = file;
  }
  return newest;
}

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  if (bytes.size() > std::numeric_limits<int>::max())
    throw Error("the picture is larger than 2 GiB");
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
  return text;
}

std::vector<Json> read_pictures(const fs::path& run, std::vector<std::string>& notes) {
  std::vector<Json> sets;
  if (!fs::is_directory(run / "pictures")) return sets;
  std::map<std::string, fs::path> folders;  // in alphabetical order
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "pictures")) {
    if (entry.is_directory()) folders.emplace(entry.path().filename().string(), entry.path());
  }
  for (const auto& [stage, folder] : folders) {
    const auto file = newest_set(folder);
    if (!file) continue;
    const std::string shown = fs::relative(*file, run).string();
    try {
      Json set = parse_json(read_text_file(*file));
      if (const Json format = set.at("format"); format != 1) {
        notes.push_back(shown + " has format " + json_line(format) +
                        ", which this program cannot show.");
        continue;
      }
      static_cast<void>(set.at("kind").get<std::string>());
      set["stage"] = stage;
      put_pictures_in(set, folder);
      sets.push_back(std::move(set));
    } catch (const std::exception& error) {
      notes.push_back(shown + " cannot be shown: " + error.what());
    }
  }
  return sets;
}

}  // namespace seam::host
