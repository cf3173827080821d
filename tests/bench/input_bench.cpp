/// Measures how many images per second are converted from files to float tensors: decode, augment,
/// batch, on several threads, without a pipeline.
///
///     input_bench FOLDER [--threads 2] [--batch 96] [--images 2880]
///
/// Prints one line for each part and `input images_per_second=...` for the total, with the
/// processor time per image, which is less affected by other programs on the machine.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <opencv2/core/utility.hpp>
#include <seam/tensor.hpp>

#include "stages/batch/batch.hpp"
#include "stages/image/augment.hpp"
#include "stages/image/decode_image.hpp"
#include "stages/image/resize_image.hpp"
#include "tests/bench/measuring.hpp"

namespace {

using seam::Image;
using namespace seam::stages;  // the measured functions

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
  seam::bench::Clock clock;
  const std::clock_t processor_start = std::clock();
  std::atomic<int> next = 0;
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (int job = next++; job < count; job = next++) body(job);
    });
  }
  workers.clear();  // joins
  const double seconds = clock.lap() / 1000;
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

void run(int count, char** arguments) {
  if (count < 2) throw std::invalid_argument("input_bench FOLDER [--threads 2] ...");
  const seam::bench::Options options(count - 1, arguments + 1,
                                     {{"--threads", "2"}, {"--batch", "96"}, {"--images", "2880"}});
  cv::setNumThreads(1);
  at::set_num_threads(1);
  const auto threads = static_cast<int>(options.count("--threads"));
  const auto size = static_cast<int>(options.count("--batch"));
  const auto files = find_files(arguments[1], static_cast<int>(options.count("--images")));
  const int images = static_cast<int>(files.size());
  const int batches = images / size;
  if (batches == 0) {
    throw std::invalid_argument(
        "the folder has no JPEG files, or --images is smaller than a batch");
  }
  const auto path = [&files](int i) { return files[static_cast<std::size_t>(i)]; };

  measure("decode", threads, images, 1, [&](int i) { read_image(path(i)); });
  const Image sample = read_image(path(0));
  measure("augment", threads, images, 1, [&](int i) { augmented(sample, i); });
  BatchMemory memory;
  const std::vector<Image> same(static_cast<std::size_t>(size), sample);
  measure("batch", threads, batches, size, [&](int) { images_to_tensor(same, memory); });
  measure("input", threads, batches, size, [&](int batch) {
    std::vector<Image> ready;
    for (int i = batch * size; i < (batch + 1) * size; ++i) {
      ready.push_back(augmented(read_image(path(i)), i));
    }
    images_to_tensor(ready, memory);
  });
}

}  // namespace

int main(int count, char** arguments) {
  return seam::bench::run(&run, count, arguments);
}
