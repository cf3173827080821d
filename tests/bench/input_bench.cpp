/// Measures how many images per second are converted from files to float tensors: decode, augment,
/// batch, on several threads, without a pipeline.
///
///     input_bench FOLDER [--threads 2] [--batch 96] [--images 2880]
///
/// Prints one line for each part and `input images_per_second=...` for the total, with the
/// processor time per image, which is less affected by other programs on the machine.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <opencv2/core/utility.hpp>
#include <seam/tensor.hpp>

#include "stages/batch/batch.hpp"
#include "stages/image/augment.hpp"
#include "stages/image/decode_image.hpp"
#include "stages/image/read_file.hpp"
#include "stages/image/resize_image.hpp"

namespace {

using seam::Image;
using namespace seam::stages;  // the measured functions

struct Options {
  std::filesystem::path folder;
  int threads = 2;
  int batch = 96;
  int images = 2880;
};

Options read_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto number = [&] {
      return i + 1 < arguments.size() ? std::atoi(arguments[++i].c_str()) : 0;
    };
    if (arguments[i] == "--threads") {
      options.threads = number();
    } else if (arguments[i] == "--batch") {
      options.batch = number();
    } else if (arguments[i] == "--images") {
      options.images = number();
    } else {
      options.folder = arguments[i];
    }
  }
  return options;
}

/// `count` JPEG files of the folder in sorted order, repeated from the first if there are fewer.
std::vector<std::filesystem::path> find_files(const std::filesystem::path& folder, int count) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".jpg") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  std::vector<std::filesystem::path> files;
  for (int i = 0; i < count && !found.empty(); ++i) {
    files.push_back(found[static_cast<std::size_t>(i) % found.size()]);
  }
  return files;
}

/// Runs body(0) to body(count - 1) on the threads and prints the rate.
void measure(const char* what, int threads, int count, int images_each,
             const std::function<void(int)>& body) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t processor_start = std::clock();
  std::atomic<int> next = 0;
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (int job = next++; job < count; job = next++) body(job);
    });
  }
  workers.clear();  // joins
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double processor_seconds =
      static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
  const double images = static_cast<double>(count) * images_each;
  std::printf("%s images_per_second=%.0f threads=%d processor_ms_per_image=%.3f\n", what,
              images / seconds, threads, 1000 * processor_seconds / images);
}

Image read_image(const std::filesystem::path& path) {
  return resize_image(decode_image(read_file(path), path.string()), 256, 256);
}

Image augmented(const Image& image, int sequence) {
  seam::Random random(7, 0, 0, static_cast<std::uint64_t>(sequence));
  return augment_image(image, draw_augmentation({}, random));
}

}  // namespace

int main(int count, char** values) {
  const Options options = read_options({values + 1, values + count});
  cv::setNumThreads(1);
  at::set_num_threads(1);
  if (options.folder.empty() || options.threads < 1 || options.batch < 1) {
    std::puts("input_bench FOLDER [--threads 2] [--batch 96] [--images 2880]");
    return 2;
  }
  const auto files = find_files(options.folder, options.images);
  const int images = static_cast<int>(files.size());
  const int batches = images / options.batch;
  if (batches == 0) {
    std::puts("the folder has no JPEG files, or --images is smaller than a batch");
    return 2;
  }
  const auto path = [&files](int i) { return files[static_cast<std::size_t>(i)]; };

  measure("decode", options.threads, images, 1, [&](int i) { read_image(path(i)); });
  const Image sample = read_image(path(0));
  measure("augment", options.threads, images, 1, [&](int i) { augmented(sample, i); });
  BatchMemory memory;
  const std::vector<Image> same(static_cast<std::size_t>(options.batch), sample);
  measure("batch", options.threads, batches, options.batch,
          [&](int) { images_to_tensor(same, memory); });
  measure("input", options.threads, batches, options.batch, [&](int batch) {
    std::vector<Image> ready;
    for (int i = batch * options.batch; i < (batch + 1) * options.batch; ++i) {
      ready.push_back(augmented(read_image(path(i)), i));
    }
    images_to_tensor(ready, memory);
  });
  return 0;
}
