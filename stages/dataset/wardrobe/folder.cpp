#include "stages/dataset/wardrobe/folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <future>
#include <iterator>
#include <mutex>
#include <opencv2/imgproc.hpp>
#include <seam/error.hpp>
#include <seam/opencv.hpp>
#include <seam/random.hpp>
#include <sstream>
#include <system_error>

#include "stages/counted.hpp"
#include "stages/dataset/wardrobe/drawing.hpp"
#include "stages/image/encode_jpeg.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

/// Incremented whenever the drawing changes, so that old folders are not reused.
constexpr int drawing_revision = 2;
constexpr std::string_view list_path = "Eval/list_eval_partition.txt";
constexpr std::string_view options_path = "wardrobe.txt";

std::string item_name(int item) {
  return "id_" + zero_padded(item + 1, 8);
}

/// The content of wardrobe.txt.
std::string description(const WardrobeOptions& options) {
  std::ostringstream text;
  text.precision(17);  // different shares are written differently
  text << "Seam wardrobe\ndrawing = " << drawing_revision << "\nitems = " << options.items
       << "\ncolours = " << options.colours << "\nviews = " << options.views
       << "\nsize = " << options.size << "\ntest_share = " << options.test_share
       << "\nseed = " << options.seed << "\n";
  return text.str();
}

std::string list_text(const std::vector<WardrobeImage>& images) {
  std::string text = std::to_string(images.size()) + "\nimage_name item_id evaluation_status\n";
  for (const WardrobeImage& image : images) {
    text += image.path + " " + item_name(image.item) + " " + std::string(split_name(image.split)) +
            "\n";
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
    throw Error(
        "'" + root.string() +
            "' holds a wardrobe with other parameters or from another version of Seam, as '" +
            (root / options_path).string() +
            "' says; use the same parameters, or a different root, or remove the folder",
        Fault::configuration);
  }
  for (const WardrobeImage& image : images) {
    if (fs::is_regular_file(root / image.path)) continue;
    throw Error("'" + (root / image.path).string() + "' is missing; remove the folder '" +
                root.string() + "' to draw it again");
  }
  return true;
}

/// Makes a new folder next to the root, for a drawing that is not finished.
fs::path new_part_folder(const fs::path& root) {
  fs::create_directories(root.parent_path());
  // The number may be taken: by a stage of this process, another computer, a killed run.
  for (int number = ::getpid();; ++number) {
    fs::path part = root;
    part += ".part-" + std::to_string(number);
    std::error_code fault;
    if (fs::create_directory(part, fault)) return part;
    // "File exists" about a folder that another one has renamed meanwhile.
    if (fault && fault != std::errc::file_exists) {
      throw fs::filesystem_error("cannot create a folder", part, fault);
    }
  }
}

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

/// Draws into an empty folder; each thread takes one colourway after the other.
void draw(const fs::path& folder, const WardrobeOptions& options,
          const std::vector<WardrobeImage>& images, int threads, const WardrobeProgress& progress) {
  const auto views = static_cast<std::size_t>(options.views);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::int64_t done = 0;
  const auto draw_colourway = [&](std::size_t first) {
    const wardrobe::GarmentArtist artist(options.seed, images[first].item, images[first].colour,
                                         options.size);
    for (const WardrobeImage& image : std::span(images).subspan(first, views)) {
      cv::Mat pixels;
      cv::cvtColor(artist.draw(image.view), pixels, cv::COLOR_BGR2RGB);
      const std::vector<std::uint8_t> bytes = encode_jpeg(image_from_mat(pixels));
      // iostreams use char, pixels are bytes
      write(folder / image.path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      const std::lock_guard lock(mutex);
      ++done;
      if (progress) progress(done, static_cast<std::int64_t>(images.size()));
    }
  };
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i * views < images.size(); i = next++) draw_colourway(i * views);
    } catch (...) {
      next = images.size();  // the others end too
      throw;
    }
  };
  std::vector<std::future<void>> others;
  for (int i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work));
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
  std::vector<char> is_tested(static_cast<std::size_t>(options.items));
  std::fill_n(is_tested.begin(), std::lround(options.test_share * options.items), 1);
  Random random(options.seed, stream_of("wardrobe.split"));
  random.shuffle(std::span(is_tested));

  std::vector<WardrobeImage> images;
  for (int item = 0; item < options.items; ++item) {
    const wardrobe::GarmentCategory& category = wardrobe::category_of(item);
    const std::string folder = "img/" + std::string(category.department) + "/" +
                               std::string(category.name) + "/" + item_name(item) + "/";
    for (int colour = 0; colour < options.colours; ++colour) {
      for (int view = 0; view < options.views; ++view) {
        WardrobeImage image{item, colour, view, Split::train, {}};
        if (is_tested[static_cast<std::size_t>(item)] != 0) {
          const bool asks =
              options.colours > 1 ? colour < options.colours / 2 : view < options.views / 2;
          image.split = asks ? Split::query : Split::gallery;
        }
        image.path = folder + zero_padded(colour + 1, 2) + "_" + wardrobe::view_name(view) + ".jpg";
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
    const fs::path part = new_part_folder(target);
    std::error_code fault;
    try {
      draw(part, options, images, threads, progress);
      fs::rename(part, target, fault);
    } catch (...) {
      fs::remove_all(part, fault);
      throw;
    }
    if (!fault) return WardrobeOutcome::drawn;
    fs::remove_all(part);
    // Others may have drawn it meanwhile.
    if (holds_wardrobe(root, options, images)) return WardrobeOutcome::reused;
    throw fs::filesystem_error("cannot replace the folder", target, fault);
  } catch (const fs::filesystem_error& error) {
    throw Error("cannot draw a wardrobe in '" + root.string() + "': " + error.what());
  }
}

}  // namespace seam::stages
