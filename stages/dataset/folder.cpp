#include "stages/dataset/folder.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <system_error>
#include <utility>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

/// What lies below a root; paths are relative to it.
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
    // By folder, then by name: the order in which a file system lists them is its own.
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
                  "' is a link to a folder that it lies in: remove it, or "
                  "set recursive = false");
    }
    if (fault) fail(folder, fault);
    way_.push_back(real);
    fs::directory_iterator entries(folder, fault);
    for (; !fault && entries != fs::directory_iterator(); entries.increment(fault)) {
      const fs::path name = entries->path().filename();
      if (name.string().starts_with('.')) continue;  // hidden: .DS_Store, .thumbnails
      std::error_code unknown;
      if (entries->is_directory(unknown)) {
        if (!recursive_) continue;
        if (below.empty()) found_.classes.insert(name.string());
        enter(below / name);
      } else if (endings_.contains(lower(name.extension().string()))) {
        // A link to nothing as well: to leave it out would be to lose a picture silently.
        found_.pictures.push_back(below / name);
      } else {
        found_.others.push_back(below / name);
      }
    }
    if (fault) fail(folder, fault);
    way_.pop_back();
  }

  [[noreturn]] static void fail(const fs::path& folder, const std::error_code& fault) {
    throw Error("the folder '" + folder.string() + "' cannot be read: " + fault.message());
  }

  fs::path root_;
  bool recursive_;
  std::set<std::string> endings_;
  std::vector<fs::path> way_;
  Found found_;
};

/// The folder of the root that a picture lies in; empty for one that lies in the root itself.
std::string class_of(const fs::path& picture) {
  return picture.has_parent_path() ? picture.begin()->string() : std::string();
}

/// What `automatic` stands for. Throws where pictures lie in the root and in folders.
FolderItems items_for(const Found& found, const fs::path& root) {
  const auto in_root = [](const fs::path& picture) { return !picture.has_parent_path(); };
  const auto flat = std::find_if(found.pictures.begin(), found.pictures.end(), in_root);
  const auto deep = std::find_if_not(found.pictures.begin(), found.pictures.end(), in_root);
  if (flat == found.pictures.end()) return FolderItems::by_class;
  if (deep == found.pictures.end()) return FolderItems::by_picture;
  throw Error(
      "'" + root.string() + "' has pictures in itself ('" + flat->string() +
          "') and in folders ('" + deep->string() +
          "'), so it is not clear what the folders mean; set items = \"picture\" where each "
          "picture is an item, items = \"class\" where the folders are, or recursive = false",
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
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(files.size(), 3); ++i) {
    text += (i == 0 ? "" : ", ") + files[i].generic_string();
  }
  return files.size() > 3 ? text + ", ..." : text;
}

std::string listed(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& one : texts) text += (text.empty() ? "" : ", ") + one;
  return text;
}

}  // namespace

void Folder::declare(Declaration& declaration) {
  declaration.doc(
      "Serves the pictures of a folder, one a packet, in the order of their names. Folders in it "
      "are classes, as in torchvision's ImageFolder; a flat folder is one of pictures without "
      "labels, each an item of its own.");
  declaration.parameter("root", root_, "the folder with the pictures").required().folder_with({});
  declaration.parameter("recursive", recursive_,
                        "read the folders in it too, at any depth; false: the pictures that lie "
                        "directly in root");
  declaration.parameter("items", items_,
                        "what is an item: the folder of root that a picture lies in (class), the "
                        "folder that it lies in, however deep (folder), or each picture; auto: "
                        "class where all pictures lie in folders, picture where none does",
                        {{"auto", FolderItems::automatic},
                         {"class", FolderItems::by_class},
                         {"folder", FolderItems::by_folder},
                         {"picture", FolderItems::by_picture}});
  declaration.parameter(
      "categories", categories_,
      "the folders of root in the order of their category numbers, for roots that "
      "must agree, such as train and test; none: sorted");
  declaration.parameter("extensions", extensions_,
                        "endings of the files to read, in lower or upper case; others are left out "
                        "and counted in the log");
  rows_.declare(declaration);
  declaration.offers<CategoryNames>(*this);
}

void Folder::open(Context& context) {
  std::error_code fault;
  if (!fs::is_directory(root_, fault)) {
    throw Error("no folder '" + root_.string() + "'; set 'root' to the folder with the pictures");
  }
  Found found = Walk(root_, extensions_, recursive_).run();
  if (found.pictures.empty()) {
    throw Error("no picture in '" + root_.string() + "'" +
                (recursive_ ? " or its folders" : " itself, and recursive is false") +
                "; files are read that end in " + listed(extensions_) +
                (found.others.empty() ? "" : ", but there is " + first_few(found.others)));
  }
  const FolderItems items = items_ == FolderItems::automatic ? items_for(found, root_) : items_;

  // All folders count, empty ones too: a category has one number whatever a copy of the data lacks.
  vocabulary_ = categories_;
  if (vocabulary_.empty()) {
    if (std::any_of(found.pictures.begin(), found.pictures.end(),
                    [](const fs::path& picture) { return !picture.has_parent_path(); })) {
      vocabulary_.emplace_back();  // of the pictures in root
    }
    vocabulary_.insert(vocabulary_.end(), found.classes.begin(), found.classes.end());
  }
  std::set<std::string> used;
  std::vector<PictureRow> rows;
  rows.reserve(found.pictures.size());
  for (const fs::path& picture : found.pictures) {
    const std::string folder = class_of(picture);
    if (items == FolderItems::by_class && folder.empty()) {
      throw Error("'" + (root_ / picture).string() +
                  "' lies in no folder of 'root', and items is \"class\"; move it into one, or "
                  "set items = \"picture\"");
    }
    const auto known = std::find(vocabulary_.begin(), vocabulary_.end(), folder);
    if (known == vocabulary_.end()) {
      throw Error("'" + (root_ / picture).string() + "' lies in " +
                      (folder.empty() ? "'root' itself" : "folder '" + folder + "'") +
                      ", which 'categories' does not have",
                  Fault::configuration);
    }
    used.insert(folder);
    rows.push_back({root_ / picture, picture.generic_string(), item_of(picture, items),
                    known - vocabulary_.begin(), static_cast<std::int64_t>(rows.size()), 0});
  }
  for (const std::string& category : vocabulary_) {
    if (used.contains(category)) continue;
    context.warn("category '" + category + "' has no picture in '" + root_.string() + "'");
  }
  if (!found.others.empty()) {
    context.info(counted(found.others.size(), "file") + " with another ending " +
                 (found.others.size() == 1 ? "is" : "are") + " left out (" +
                 first_few(found.others) + ")");
  }
  std::set<std::string_view> distinct;
  for (const PictureRow& row : rows) distinct.insert(row.item);
  context.info(counted(rows.size(), "image") + " of " + counted(distinct.size(), "item"));
  rows_.open(std::move(rows), root_.string(), context);
}

void Folder::begin(Context& /*context*/) {
  rows_.begin();
}

More Folder::produce(Emitter& emitter, Context& context) {
  return rows_.produce(emitter, context);
}

}  // namespace seam::stages
