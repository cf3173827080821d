#include "stages/dataset/folder.hpp"

#include <algorithm>
#include <system_error>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

/// The content of a root; paths are relative to it.
struct Found {
  std::vector<fs::path> pictures;
  std::vector<fs::path> others;   ///< files with other endings
  std::set<std::string> classes;  ///< the folders directly in the root
};

class Walk {
 public:
  Walk(fs::path root, const std::vector<std::string>& extensions, bool recursive)
      : root_(std::move(root)), recursive_(recursive) {
    for (const std::string& extension : extensions) {
      endings_.insert(lower(extension.starts_with('.') ? extension : "." + extension));
    }
  }

  Found run() {
    enter({});
    // By folder, then by name: file systems list files in any order.
    std::sort(found_.pictures.begin(), found_.pictures.end());
    std::sort(found_.others.begin(), found_.others.end());
    return std::move(found_);
  }

 private:
  void enter(const fs::path& below) {
    const fs::path folder = below.empty() ? root_ : root_ / below;
    std::error_code fault;
    const fs::path real = fs::canonical(folder, fault);
    if (!fault && std::find(way_.begin(), way_.end(), real) != way_.end()) {
      throw Error("'" + folder.string() +
                  "' is a link to one of its parent folders: remove it, or set recursive = false");
    }
    if (fault) {
      throw Error("the folder '" + folder.string() + "' cannot be read: " + fault.message());
    }
    way_.push_back(real);
    for (const fs::directory_entry& entry : entries_of(folder)) {
      const fs::path name = entry.path().filename();
      std::error_code unknown;
      if (entry.is_directory(unknown)) {
        if (!recursive_) continue;
        if (below.empty()) found_.classes.insert(name.string());
        enter(below / name);
      } else if (endings_.contains(lower(name.extension().string()))) {
        // Includes broken links: leaving one out would silently lose an image.
        found_.pictures.push_back(below / name);
      } else {
        found_.others.push_back(below / name);
      }
    }
    way_.pop_back();
  }

  fs::path root_;
  bool recursive_;
  std::set<std::string> endings_;
  std::vector<fs::path> way_;
  Found found_;
};

/// The top-level folder of an image; empty for an image directly in the root.
std::string class_of(const fs::path& picture) {
  return picture.has_parent_path() ? picture.begin()->string() : std::string();
}

/// The meaning of `automatic`. Throws if there are images both in the root and in folders.
FolderItems items_for(const Found& found, const fs::path& root) {
  const auto in_root = [](const fs::path& picture) { return !picture.has_parent_path(); };
  const auto flat = std::find_if(found.pictures.begin(), found.pictures.end(), in_root);
  const auto deep = std::find_if_not(found.pictures.begin(), found.pictures.end(), in_root);
  if (flat == found.pictures.end()) return FolderItems::by_class;
  if (deep == found.pictures.end()) return FolderItems::by_picture;
  throw Error("'" + root.string() + "' contains images directly ('" + flat->string() +
                  "') and in folders ('" + deep->string() +
                  "'), so it is unclear what the folders mean; set items = \"picture\" if each "
                  "image is an item, items = \"class\" if each folder is one, or recursive = false",
              Fault::configuration);
}

std::string item_of(const fs::path& picture, FolderItems items) {
  switch (items) {
    case FolderItems::by_class:
      return class_of(picture);
    case FolderItems::by_folder:
      return picture.parent_path().generic_string();
    default:
      return picture.generic_string();
  }
}

std::string first_few(const std::vector<fs::path>& files) {
  return first_of(files, 3, [](const fs::path& file) { return file.generic_string(); });
}

}  // namespace

void Folder::declare(Declaration& d) {
  d.doc(
      "Serves the images in a folder, one per packet, sorted by name. Subfolders are classes, as "
      "in torchvision's ImageFolder; in a flat folder images have no labels, and each is a "
      "separate item.");
  d.parameter("root", root_, "the folder with the images").required().folder_with({});
  d.parameter(
      "recursive", recursive_,
      "whether to read subfolders too, at any depth; false: only the images directly in root");
  d.parameter("items", items_,
              "what counts as an item: the top-level folder of an image (class), its innermost "
              "folder (folder), or each image (picture); auto: class if all images are in folders, "
              "picture if none is",
              {{"auto", FolderItems::automatic},
               {"class", FolderItems::by_class},
               {"folder", FolderItems::by_folder},
               {"picture", FolderItems::by_picture}});
  d.parameter("categories", categories_,
              "top-level folders in the order of their category numbers, for roots that must "
              "agree, such as train and test; empty: sorted by name");
  d.parameter("extensions", extensions_,
              "extensions of images, in lower or upper case; other files are left out and counted "
              "in the log");
  declare_rows(d);
}

void Folder::open(Context& context) {
  require_folder(root_, "; set 'root' to the folder with the images");
  Found found = Walk(root_, extensions_, recursive_).run();
  if (found.pictures.empty()) {
    const std::string read = first_of(extensions_, extensions_.size());
    throw Error("no image in '" + root_.string() + "'" +
                (recursive_ ? " or its folders" : " itself, and recursive is false") +
                "; only files ending in " + read + " count as images" +
                (found.others.empty() ? "" : ", but there is " + first_few(found.others)));
  }
  const FolderItems items = items_ == FolderItems::automatic ? items_for(found, root_) : items_;

  for (auto at = categories_.begin(); at != categories_.end(); ++at) {
    if (std::find(categories_.begin(), at, *at) == at) continue;
    throw Error("'categories' names '" + *at + "' twice", Fault::configuration);
  }
  // Empty folders count too: a category has the same number in an incomplete copy of the data.
  std::vector<std::string> vocabulary = categories_;
  if (vocabulary.empty()) {
    if (std::any_of(found.pictures.begin(), found.pictures.end(),
                    [](const fs::path& picture) { return !picture.has_parent_path(); })) {
      vocabulary.emplace_back();  // of the images in root
    }
    vocabulary.insert(vocabulary.end(), found.classes.begin(), found.classes.end());
  }
  std::set<std::string> used;
  std::vector<PictureRow> rows;
  rows.reserve(found.pictures.size());
  for (const fs::path& picture : found.pictures) {
    const std::string folder = class_of(picture);
    const bool by_folder = items == FolderItems::by_class || items == FolderItems::by_folder;
    if (by_folder && folder.empty()) {
      throw Error("'" + (root_ / picture).string() +
                  "' is not in a folder of 'root', but items is " +
                  (items == FolderItems::by_class ? "\"class\"" : "\"folder\"") +
                  "; move it into one, or set items = \"picture\"");
    }
    const auto known = std::find(vocabulary.begin(), vocabulary.end(), folder);
    if (known == vocabulary.end()) {
      throw Error("'" + (root_ / picture).string() + "' is in " +
                      (folder.empty() ? "'root' itself" : "folder '" + folder + "'") +
                      ", which is not in 'categories'",
                  Fault::configuration);
    }
    used.insert(folder);
    rows.push_back({root_ / picture, picture.generic_string(), item_of(picture, items),
                    known - vocabulary.begin(), static_cast<std::int64_t>(rows.size()), 0});
  }
  for (const std::string& category : vocabulary) {
    if (used.contains(category)) continue;
    context.warn("category '" + category + "' has no image in '" + root_.string() + "'");
  }
  if (!found.others.empty()) {
    context.info(counted(found.others.size(), "file") + " with a different extension " +
                 (found.others.size() == 1 ? "was" : "were") + " left out (" +
                 first_few(found.others) + ")");
  }
  std::set<std::string_view> distinct;
  for (const PictureRow& row : rows) distinct.insert(row.item);
  context.info(counted(rows.size(), "image") + " of " + counted(distinct.size(), "item"));
  serve(std::move(rows), std::move(vocabulary), root_.string(), context);
}

}  // namespace seam::stages
