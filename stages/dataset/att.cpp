#include "stages/dataset/att.hpp"

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

/// The names in a folder that consist of this prefix, digits and this suffix.
std::set<std::string> numbered(const fs::path& folder, std::string_view prefix,
                               std::string_view ending) {
  std::set<std::string> found;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= prefix.size() + ending.size() || !name.starts_with(prefix) ||
        !name.ends_with(ending)) {
      continue;
    }
    const std::string digits =
        name.substr(prefix.size(), name.size() - prefix.size() - ending.size());
    if (digits.find_first_not_of("0123456789") == std::string::npos) found.insert(name);
  }
  return found;
}

/// Throws unless the folder has exactly the names with the numbers 1 to `count`.
void check_numbered(const fs::path& folder, std::string_view prefix, std::string_view ending,
                    std::int64_t count, const std::string& parameter) {
  std::set<std::string> found = numbered(folder, prefix, ending);
  for (std::int64_t number = 1; number <= count; ++number) {
    const std::string name = std::string(prefix) + std::to_string(number) + std::string(ending);
    if (found.erase(name) == 1) continue;
    throw Error("'" + (folder / name).string() +
                "' is missing; unpack the AT&T faces again, or set '" + parameter +
                "' to the number in this copy");
  }
  if (found.empty()) return;
  throw Error("'" + (folder / *found.begin()).string() + "' exists, but '" + parameter +
              "' is set to " + std::to_string(count) +
              " (numbered from 1); this is not the AT&T data set, or a different part of it");
}

/// The numbers as a set; throws if one is repeated or no image has it.
std::set<std::int64_t> chosen_of(const std::vector<std::int64_t>& pictures, std::int64_t images) {
  std::set<std::int64_t> chosen;
  for (const std::int64_t picture : pictures) {
    if (picture > images) {
      throw Error("'pictures' has " + std::to_string(picture) + ", but each subject has " +
                  counted(images, "image") + ", numbered from 1");
    }
    if (!chosen.insert(picture).second) {
      throw Error("'pictures' has " + std::to_string(picture) + " twice; list each image once");
    }
  }
  return chosen;
}

}  // namespace

void Att::declare(Declaration& d) {
  d.doc(
      "Serves the AT&T (ORL) faces, one image per packet, subject by subject. All images of a "
      "subject are in the same fold, so held-out subjects are never seen in training.");
  d.parameter("root", root_, "the folder with s1 to s40, each with 1.pgm to 10.pgm")
      .required()
      .folder_with({"s1", "s2"});
  d.parameter("subjects", subject_count_, "number of subjects that must exist").range(1, 100'000);
  d.parameter("images", images_per_subject_, "number of images that each subject must have")
      .range(1, 100'000);
  d.parameter("pictures", pictures_,
              "numbers of the images to serve for each subject; empty: all. For classifiers, which "
              "train on some images and are evaluated on others")
      .range(1, 100'000);
  declare_rows(d, {.item = "the subject: \"s1\"",
                   .category = "the subject's number, from 0",
                   .index = "position in the whole data set, from 0"});
}

void Att::open(Context& context) {
  require_folder(root_, "; set 'root' to the folder with s1 to s" + std::to_string(subject_count_));
  check_numbered(root_, "s", "", subject_count_, "subjects");
  const std::set<std::int64_t> chosen = chosen_of(pictures_, images_per_subject_);
  std::vector<std::string> subjects;
  std::vector<PictureRow> rows;
  for (std::int64_t subject = 0; subject < subject_count_; ++subject) {
    const std::string& folder = subjects.emplace_back("s" + std::to_string(subject + 1));
    check_numbered(root_ / folder, "", ".pgm", images_per_subject_, "images");
    for (std::int64_t image = 1; image <= images_per_subject_; ++image) {
      if (!chosen.empty() && !chosen.contains(image)) continue;
      const std::string file = folder + "/" + std::to_string(image) + ".pgm";
      const std::int64_t index = subject * images_per_subject_ + image - 1;
      rows.push_back({root_ / file, file, folder, subject, index, 0});
    }
  }
  context.info(counted(rows.size(), "image") + " of " + counted(subject_count_, "subject"));
  serve(std::move(rows), std::move(subjects), root_.string(), context);
}

}  // namespace seam::stages
