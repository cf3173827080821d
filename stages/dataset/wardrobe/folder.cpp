#include "stages/dataset/wardrobe/folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <seam/error.hpp>
#include <seam/random.hpp>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "stages/dataset/wardrobe/drawing.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

/// Incremented whenever the drawing changes, so that old folders are drawn again.
constexpr int drawing_revision = 1;
constexpr int jpeg_quality = 90;
constexpr std::string_view list_path = "Eval/list_eval_partition.txt";
constexpr std::string_view finished_title = "Seam wardrobe";
constexpr std::string_view unfinished_title = "Seam wardrobe, unfinished";

fs::path marker_of(const fs::path& root) {
  return root / "wardrobe.txt";
}

void check_range(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return;
  std::ostringstream message;
  message << "a wardrobe of " << name << " = " << value << " cannot be drawn; accepted are " << low
          << " to " << high;
  throw Error(message.str(), Fault::configuration);
}

void check(const WardrobeOptions& options) {
  check_range("items", options.items, 2, 1'000'000);
  check_range("colours", options.colours, 1, 12);
  check_range("views", options.views, 1, 60);
  check_range("size", options.size, 32, 1024);
  check_range("test_share", options.test_share, 0, 1);
  if (options.test_share > 0 && options.colours * options.views < 2) {
    throw Error(
        "a wardrobe with query and gallery needs two images per item: set colours or views to 2 or "
        "more",
        Fault::configuration);
  }
}

std::string item_name(int item) {
  std::string digits = std::to_string(item + 1);
  return "id_" + std::string(8 - std::min<std::size_t>(digits.size(), 8), '0') + digits;
}

std::string description(const WardrobeOptions& options) {
  std::ostringstream text;
  text << "drawing = " << drawing_revision << "\nitems = " << options.items
       << "\ncolours = " << options.colours << "\nviews = " << options.views
       << "\nsize = " << options.size << "\ntest_share = ";
  std::array<char, 32> number{};  // the shortest text that reads back as the same number
  const auto end = std::to_chars(number.data(), number.data() + number.size(), options.test_share);
  text << std::string_view(number.data(), end.ptr) << "\nseed = " << options.seed << "\n";
  return text.str();
}

struct Marker {
  bool finished = false;
  std::string description;
};

std::string read_all(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::optional<Marker> read_marker(const fs::path& root) {
  const std::string text = read_all(marker_of(root));
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return {};
  const std::string_view title = std::string_view(text).substr(0, end);
  if (title != finished_title && title != unfinished_title) return {};
  return Marker{title == finished_title, text.substr(end + 1)};
}

/// The options of an older wardrobe; nullopt if the marker cannot be parsed.
std::optional<WardrobeOptions> options_of(const Marker& marker) {
  WardrobeOptions options;
  std::istringstream lines(marker.description);
  std::string name;
  std::string equals;
  std::string value;
  int understood = 0;
  const auto read = [&value](auto& number) {
    return std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc();
  };
  while (lines >> name >> equals >> value) {
    if (name == "items") understood += read(options.items) ? 1 : 0;
    if (name == "colours") understood += read(options.colours) ? 1 : 0;
    if (name == "views") understood += read(options.views) ? 1 : 0;
    if (name == "size") understood += read(options.size) ? 1 : 0;
    if (name == "test_share") understood += read(options.test_share) ? 1 : 0;
    if (name == "seed") understood += read(options.seed) ? 1 : 0;
  }
  if (understood != 6) return {};
  return options;
}

/// Writes a file under a temporary name, then renames it atomically.
void write_whole(const fs::path& file, const fs::path& temporary, const char* bytes,
                 std::size_t count) {
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(bytes, static_cast<std::streamsize>(count));
    out.close();
    if (!out) {
      std::error_code ignored;
      fs::remove(temporary, ignored);
      throw Error("cannot write '" + file.string() +
                  "'; check that the disk has space and the folder is writable");
    }
  }
  fs::rename(temporary, file);
}

void write_marker(const fs::path& root, std::string_view title, const WardrobeOptions& options) {
  const std::string text = std::string(title) + "\n" + description(options);
  write_whole(marker_of(root), root / "wardrobe.part", text.data(), text.size());
}

bool is_complete(const fs::path& root, const std::vector<WardrobeImage>& images) {
  std::error_code fault;
  if (!fs::is_regular_file(root / list_path, fault)) return false;
  return std::all_of(images.begin(), images.end(), [&root](const WardrobeImage& image) {
    std::error_code missing;
    return fs::is_regular_file(root / image.path, missing);
  });
}

/// Tells other stages and processes what this one does in the folder. The system releases the lock
/// if the process dies.
class FolderLock {
 public:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  FolderLock(const FolderLock&) = delete;
  FolderLock(FolderLock&&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock() { ::close(descriptor_); }

  /// Excludes all other readers and drawers. Does not wait.
  [[nodiscard]] bool try_to_draw() const { return ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0; }
  /// Others may read too. Does not wait; turns a lock for drawing into one for reading.
  [[nodiscard]] bool try_to_read() const { return ::flock(descriptor_, LOCK_SH | LOCK_NB) == 0; }

 private:
  int descriptor_;
};

std::string lock_file(const fs::path& root) {
  return (root / "wardrobe.lock").string();
}

/// A lock that marks a finished wardrobe as in use; null if the folder is not writable.
std::shared_ptr<FolderLock> reading(const fs::path& root) {
  const int descriptor = ::open(lock_file(root).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  auto lock = std::make_shared<FolderLock>(descriptor);
  return lock->try_to_read() ? lock : nullptr;
}

void refuse_foreign_folder(const fs::path& root) {
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name == "wardrobe.lock" || name == "wardrobe.part") continue;
    if (read_marker(root)) return;  // a wardrobe, perhaps one that was begun meanwhile
    throw Error("'" + root.string() + "' holds '" + name +
                    "', but not a wardrobe drawn by Seam, and other files are never overwritten; "
                    "use an empty or new folder",
                Fault::configuration);
  }
}

/// Removes exactly the files of an older drawing.
void remove_images(const fs::path& root, const WardrobeOptions& options) {
  std::error_code ignored;
  std::set<fs::path> folders;
  for (const WardrobeImage& image : plan_wardrobe(options)) {
    const fs::path file = root / image.path;
    fs::remove(file, ignored);
    for (fs::path up = file.parent_path(); up != root; up = up.parent_path()) folders.insert(up);
  }
  fs::remove(root / list_path, ignored);
  // Deepest first, since a path sorts after its parent folders. Folders with foreign files stay.
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    fs::remove(*folder, ignored);
  }
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

/// Draws the missing images; each thread takes item after item.
class Studio {
 public:
  Studio(const fs::path& root, const WardrobeOptions& options,
         const std::vector<WardrobeImage>& images, const WardrobeProgress& progress)
      : root_(root), options_(options), images_(images), progress_(progress) {}

  void work(int threads) {
    {
      std::vector<std::jthread> others;
      for (int i = 1; i < threads; ++i) {
        others.emplace_back([this, i] { work_alone(i); });
      }
      work_alone(0);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work_alone(int worker) {
    try {
      const std::size_t per_item =
          static_cast<std::size_t>(options_.colours) * static_cast<std::size_t>(options_.views);
      while (!stopped_) {
        const int item = next_item_++;
        if (item >= options_.items) return;
        draw_item(std::span(images_).subspan(static_cast<std::size_t>(item) * per_item, per_item),
                  worker);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stopped_ = true;
    }
  }

  void draw_item(std::span<const WardrobeImage> images, int worker) {
    const fs::path temporary = root_ / ("wardrobe.part-" + std::to_string(worker));
    std::optional<GarmentArtist> artist;
    std::vector<std::uint8_t> bytes;
    for (const WardrobeImage& image : images) {
      const fs::path file = root_ / image.path;
      if (stopped_) return;
      if (!fs::exists(file)) {
        if (!artist) artist.emplace(options_.seed, image.item, options_.colours, options_.size);
        fs::create_directories(file.parent_path());
        cv::imencode(".jpg", artist->draw(image.colour, image.view), bytes,
                     {cv::IMWRITE_JPEG_QUALITY, jpeg_quality});
        // iostreams use char, pixels are bytes
        write_whole(file, temporary, reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
      const std::lock_guard lock(mutex_);
      ++done_;
      if (progress_) progress_(done_, static_cast<std::int64_t>(images_.size()));
    }
  }

  const fs::path& root_;
  const WardrobeOptions& options_;
  const std::vector<WardrobeImage>& images_;
  const WardrobeProgress& progress_;
  std::atomic<int> next_item_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::int64_t done_ = 0;
  std::exception_ptr failure_;
};

void draw_folder(const fs::path& root, const WardrobeOptions& options,
                 const std::vector<WardrobeImage>& images, int threads,
                 const WardrobeProgress& progress) {
  write_marker(root, unfinished_title, options);
  Studio(root, options, images, progress).work(std::clamp(threads, 1, options.items));
  fs::create_directories(root / "Eval");
  const std::string list = list_text(images);
  write_whole(root / list_path, root / "wardrobe.part", list.data(), list.size());
  write_marker(root, finished_title, options);
}

/// Inspects the folder: empty, this wardrobe unfinished, or a different one to remove.
void make_room(const fs::path& root, const std::string& wanted) {
  const auto marker = read_marker(root);
  if (!marker) {
    refuse_foreign_folder(root);
  } else if (marker->description != wanted) {
    const auto older = options_of(*marker);
    if (!older) {
      throw Error(
          "'" + marker_of(root).string() +
              "' cannot be parsed, so the wardrobe cannot be drawn again; use a different folder",
          Fault::configuration);
    }
    remove_images(root, *older);
  }
}

std::string one_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    text.replace(at, 1, ", ");
  }
  return text;
}

}  // namespace

std::vector<WardrobeImage> plan_wardrobe(const WardrobeOptions& options) {
  check(options);
  std::vector<int> order(static_cast<std::size_t>(options.items));
  std::iota(order.begin(), order.end(), 0);
  Random random(options.seed, stream_of("wardrobe.split"));
  random.shuffle(std::span(order));
  const auto test_items = static_cast<std::size_t>(std::lround(options.test_share * options.items));
  std::vector<bool> tests(order.size());
  for (std::size_t i = 0; i < test_items; ++i) tests[static_cast<std::size_t>(order[i])] = true;

  std::vector<WardrobeImage> images;
  images.reserve(order.size() * static_cast<std::size_t>(options.colours * options.views));
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
        image.path = folder;
        image.path += colour < 9 ? "0" : "";
        image.path += std::to_string(colour + 1);
        image.path += "_";
        image.path += wardrobe_view_name(view);
        image.path += ".jpg";
        images.push_back(std::move(image));
      }
    }
  }
  return images;
}

ProvidedWardrobe provide_wardrobe(const fs::path& root, const WardrobeOptions& options, int threads,
                                  const WardrobeProgress& progress) {
  const std::vector<WardrobeImage> images = plan_wardrobe(options);
  const std::string wanted = description(options);
  const auto is_ready = [&] {
    const auto marker = read_marker(root);
    return marker && marker->finished && marker->description == wanted && is_complete(root, images);
  };
  try {
    // First without a lock: the folder may be read-only.
    if (is_ready()) {
      auto lock = reading(root);
      if (is_ready()) return {WardrobeOutcome::reused, std::move(lock)};
    }
    fs::create_directories(root);
    refuse_foreign_folder(root);  // before the lock, which is a file in it
    const int descriptor = ::open(lock_file(root).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (descriptor < 0) {
      throw Error("cannot draw a wardrobe in '" + root.string() +
                  "': " + std::generic_category().message(errno));
    }
    auto lock = std::make_shared<FolderLock>(descriptor);
    while (!lock->try_to_draw()) {  // others are using the folder
      if (is_ready() && lock->try_to_read()) return {WardrobeOutcome::reused, std::move(lock)};
      const auto marker = read_marker(root);
      if (marker && marker->finished && !is_ready()) {
        throw Error("the wardrobe in '" + root.string() + "' is in use by another stage or run " +
                        (marker->description == wanted
                             ? "and lacks images; end that run first"
                             : "with other parameters (" + one_line(marker->description) +
                                   "); use the same parameters for both, or a different root"),
                    Fault::configuration);
      }
      if (progress) progress(0, static_cast<std::int64_t>(images.size()));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ProvidedWardrobe provided{WardrobeOutcome::reused, lock};
    if (!is_ready()) {
      make_room(root, wanted);
      draw_folder(root, options, images, threads, progress);
      provided.outcome = WardrobeOutcome::drawn;
    }
    if (!lock->try_to_read()) provided.in_use = nullptr;  // another process is reading it now
    return provided;
  } catch (const fs::filesystem_error& error) {
    throw Error("cannot draw a wardrobe in '" + root.string() + "': " + error.what());
  }
}

}  // namespace seam::stages
