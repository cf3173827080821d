#include "stages/dataset/wardrobe/folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <fstream>
#include <future>
#include <iterator>
#include <mutex>
#include <numeric>
#include <opencv2/imgcodecs.hpp>
#include <seam/error.hpp>
#include <sstream>
#include <system_error>

#include "stages/counted.hpp"
#include "stages/dataset/wardrobe/drawing.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

/// Incremented whenever the drawing changes, so that old folders are not reused.
constexpr int drawing_revision = 1;
constexpr int jpeg_quality = 90;
constexpr std::string_view list_path = "Eval/list_eval_partition.txt";
constexpr std::string_view options_path = "wardrobe.txt";

std::string item_name(int item) {
  return "id_" + zero_padded(item + 1, 8);
}

/// The content of wardrobe.txt.
std::string description(const WardrobeOptions& options) {
  std::ostringstream text;
  text << "Seam wardrobe\ndrawing = " << drawing_revision << "\nitems = " << options.items
       << "\ncolours = " << options.colours << "\nviews = " << options.views
       << "\nsize = " << options.size << "\ntest_share = ";
  std::array<char, 32> number{};  // the shortest text that reads back as the same number
  const auto end = std::to_chars(number.data(), number.data() + number.size(), options.test_share);
  text << std::string_view(number.data(), end.ptr) << "\nseed = " << options.seed << "\n";
  return text.str();
}

std::string list_text(const std::vector<WardrobeImage>& images) {
  std::string text = std::to_string(images.size()) + "\nimage_name item_id evaluation_status\n";
  constexpr std::size_t column = 72;
  for (const WardrobeImage& image : images) {
    text += image.path;
    text.append(image.path.size() < column ? column - image.path.size() : 1, ' ');
    text += item_name(image.item) + " ";
    text += split_name(image.split);
    text += "\n";
  }
  return text;
}

std::string one_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    text.replace(at, 1, ", ");
  }
  return text;
}

/// Whether the root holds this wardrobe. Throws if it holds anything else.
bool holds_wardrobe(const fs::path& root, const WardrobeOptions& options,
                    const std::vector<WardrobeImage>& images) {
  if (!fs::exists(root) || fs::is_empty(root)) return false;
  std::ifstream in(root / options_path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(in), {}};
  const std::string wanted = description(options);
  if (!found.starts_with(wanted.substr(0, wanted.find('\n') + 1))) {
    throw Error("'" + root.string() + "' holds '" +
                    fs::directory_iterator(root)->path().filename().string() +
                    "', but not a wardrobe drawn by Seam, and other files are never overwritten; "
                    "use an empty or new folder",
                Fault::configuration);
  }
  if (found != wanted) {
    throw Error("'" + root.string() + "' holds a wardrobe with other parameters (" +
                    one_line(found.substr(found.find('\n') + 1)) +
                    "); use the same parameters, or a different root, or remove the folder",
                Fault::configuration);
  }
  std::vector<std::string> files{std::string(list_path)};
  for (const WardrobeImage& image : images) files.push_back(image.path);
  for (const std::string& file : files) {
    if (fs::is_regular_file(root / file)) continue;
    throw Error("'" + (root / file).string() + "' is missing; remove the folder '" + root.string() +
                "' to draw it again");
  }
  return true;
}

/// A new folder next to the root, for a drawing that is not finished; removed in the end unless it
/// was renamed.
class PartFolder {
 public:
  explicit PartFolder(const fs::path& root) {
    fs::create_directories(root.parent_path());
    std::error_code fault;
    // The number may be taken: by a stage of this process, another computer, a killed run.
    for (int number = ::getpid();; ++number) {
      path_ = root;
      path_ += ".part-" + std::to_string(number);
      if (fs::create_directory(path_, fault)) return;
      // "File exists" about a folder that another one has renamed meanwhile.
      if (fault && fault != std::errc::file_exists) {
        throw fs::filesystem_error("cannot create a folder", path_, fault);
      }
    }
  }
  PartFolder(const PartFolder&) = delete;
  PartFolder(PartFolder&&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;
  PartFolder& operator=(PartFolder&&) = delete;
  ~PartFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const fs::path& path() const { return path_; }
  void rename_to(const fs::path& target, std::error_code& fault) {
    fs::rename(path_, target, fault);
    if (!fault) path_.clear();  // its name may already be another process's
  }

 private:
  fs::path path_;
};

void write(const fs::path& file, std::string_view bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    throw Error("cannot write '" + file.string() +
                "'; check that the disk has space and the folder is writable");
  }
}

/// Draws into an empty folder; each thread takes item after item.
void draw(const fs::path& folder, const WardrobeOptions& options,
          const std::vector<WardrobeImage>& images, int threads, const WardrobeProgress& progress) {
  std::atomic<int> next_item{0};
  std::mutex mutex;
  std::int64_t done = 0;
  const auto draw_item = [&](int item) {
    GarmentArtist artist(options.seed, item, options.colours, options.size);
    const auto count =
        static_cast<std::size_t>(options.colours) * static_cast<std::size_t>(options.views);
    std::vector<std::uint8_t> bytes;
    for (const WardrobeImage& image :
         std::span(images).subspan(static_cast<std::size_t>(item) * count, count)) {
      cv::imencode(".jpg", artist.draw(image.colour, image.view), bytes,
                   {cv::IMWRITE_JPEG_QUALITY, jpeg_quality});
      // iostreams use char, pixels are bytes
      write(folder / image.path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      const std::lock_guard lock(mutex);
      ++done;
      if (progress) progress(done, static_cast<std::int64_t>(images.size()));
    }
  };
  const auto work = [&] {
    try {
      for (int item = next_item++; item < options.items; item = next_item++) draw_item(item);
    } catch (...) {
      next_item = options.items;  // the others end too
      throw;
    }
  };
  std::vector<std::future<void>> others;
  for (int i = 1; i < std::min(threads, options.items); ++i) {
    others.push_back(std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& other : others) other.get();
  write(folder / list_path, list_text(images));
  write(folder / options_path, description(options));
}

}  // namespace

std::vector<WardrobeImage> plan_wardrobe(const WardrobeOptions& options) {
  if (options.test_share > 0 && options.colours * options.views < 2) {
    throw Error(
        "a wardrobe with query and gallery needs two images per item: set colours or views to 2 or "
        "more",
        Fault::configuration);
  }
  std::vector<int> order(static_cast<std::size_t>(options.items));
  std::iota(order.begin(), order.end(), 0);
  Random random(options.seed, stream_of("wardrobe.split"));
  random.shuffle(std::span(order));
  const auto test_items = static_cast<std::size_t>(std::lround(options.test_share * options.items));
  std::vector<bool> tests(order.size());
  for (std::size_t i = 0; i < test_items; ++i) tests[static_cast<std::size_t>(order[i])] = true;

  std::vector<WardrobeImage> images;
  images.reserve(order.size() * static_cast<std::size_t>(options.colours) *
                 static_cast<std::size_t>(options.views));
  const auto& categories = garment_categories();
  for (int item = 0; item < options.items; ++item) {
    const GarmentCategory& category =
        categories[static_cast<std::size_t>(item) % categories.size()];
    const std::string folder = "img/" + std::string(category.department) + "/" +
                               std::string(category.name) + "/" + item_name(item) + "/";
    for (int colour = 0; colour < options.colours; ++colour) {
      for (int view = 0; view < options.views; ++view) {
        WardrobeImage image{item, colour, view, Split::train, {}};
        if (tests[static_cast<std::size_t>(item)]) {
          const bool asks =
              options.colours > 1 ? colour < options.colours / 2 : view < options.views / 2;
          image.split = asks ? Split::query : Split::gallery;
        }
        image.path = folder + zero_padded(colour + 1, 2) + "_" + wardrobe_view_name(view) + ".jpg";
        images.push_back(std::move(image));
      }
    }
  }
  return images;
}

WardrobeOutcome provide_wardrobe(const fs::path& root, const WardrobeOptions& options, int threads,
                                 const WardrobeProgress& progress) {
  const std::vector<WardrobeImage> images = plan_wardrobe(options);
  try {
    if (holds_wardrobe(root, options, images)) return WardrobeOutcome::reused;
    fs::path target = fs::weakly_canonical(fs::absolute(root));  // not a link to it
    if (!target.has_filename()) target = target.parent_path();
    // Before drawing: a root that cannot be replaced, such as a mount point, is an error. It is
    // replaced by an empty folder rather than removed, because others may be looking at it.
    std::error_code fault;
    if (fs::exists(target)) PartFolder(target).rename_to(target, fault);
    if (!fault) {
      PartFolder part(target);
      draw(part.path(), options, images, threads, progress);
      part.rename_to(target, fault);
      if (!fault) return WardrobeOutcome::drawn;
    }
    // Others may have drawn it meanwhile.
    if (holds_wardrobe(root, options, images)) return WardrobeOutcome::reused;
    throw fs::filesystem_error("cannot replace the folder", target, fault);
  } catch (const fs::filesystem_error& error) {
    throw Error("cannot draw a wardrobe in '" + root.string() + "': " + error.what());
  }
}

}  // namespace seam::stages
