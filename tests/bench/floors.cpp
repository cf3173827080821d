/// Scores without learning on a data set in the In-Shop layout: recall of the queries in the
/// gallery by colour histogram and by raw pixels. A trained model below these numbers has learned
/// nothing.
///
///     floors ROOT [LIST]        LIST defaults to ROOT/Eval/list_eval_partition.txt
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <seam/error.hpp>
#include <utility>
#include <vector>

#include "stages/dataset/inshop_list.hpp"

namespace seam::stages {
namespace {

/// One row per image, of unit length, so that the product of two rows is their similarity.
using Describe = std::function<void(const cv::Mat3b&, cv::Mat1f)>;

constexpr int hues = 16;
constexpr int saturations = 4;
constexpr int values = 4;

/// Roots of a hue x saturation x value histogram: products of rows are Bhattacharyya coefficients.
void colour_histogram(const cv::Mat3b& image, cv::Mat1f row) {
  cv::Mat3b hsv;
  cv::cvtColor(image, hsv, cv::COLOR_BGR2HSV);
  row.setTo(0);
  for (const cv::Vec3b& pixel : hsv) {
    const int bin = (pixel[0] * hues / 180 * saturations + pixel[1] * saturations / 256) * values +
                    pixel[2] * values / 256;
    row(0, bin) += 1;
  }
  cv::sqrt(row, row);
  row /= cv::norm(row);
}

constexpr int side = 24;

void raw_pixels(const cv::Mat3b& image, cv::Mat1f row) {
  cv::Mat small;
  cv::resize(image, small, {side, side}, 0, 0, cv::INTER_AREA);
  small.reshape(1, 1).convertTo(row, CV_32F);
  row -= cv::mean(row);
  row /= std::max(cv::norm(row), 1e-9);
}

cv::Mat1f describe(const std::filesystem::path& root, const std::vector<InshopRow>& rows, int width,
                   const Describe& with) {
  cv::Mat1f out(static_cast<int>(rows.size()), width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string file = (root / rows[i].path).string();
    const cv::Mat3b image = cv::imread(file, cv::IMREAD_COLOR);
    if (image.empty()) throw Error("cannot read '" + file + "'");
    with(image, out.row(static_cast<int>(i)));
  }
  return out;
}

void report(const char* name, const std::filesystem::path& root, const InshopList& list, int width,
            const Describe& with) {
  const std::vector<InshopRow> queries = list.of(Split::query);
  const std::vector<InshopRow> gallery = list.of(Split::gallery);
  const cv::Mat1f asked = describe(root, queries, width, with);
  const cv::Mat1f stored = describe(root, gallery, width, with);
  constexpr std::array<std::size_t, 3> ks{1, 10, 20};
  std::array<int, 3> hits{};
  std::vector<std::pair<float, std::size_t>> ranking(gallery.size());
  for (int q = 0; q < asked.rows; ++q) {
    cv::Mat1f similar;
    cv::gemm(stored, asked.row(q), 1, cv::noArray(), 0, similar, cv::GEMM_2_T);
    for (std::size_t g = 0; g < gallery.size(); ++g) {
      ranking[g] = {-similar(static_cast<int>(g), 0), g};
    }
    const std::size_t kept = std::min(ks.back(), ranking.size());
    std::partial_sort(ranking.begin(), ranking.begin() + static_cast<std::ptrdiff_t>(kept),
                      ranking.end());
    for (std::size_t k = 0; k < ks.size(); ++k) {
      const auto end = ranking.begin() + static_cast<std::ptrdiff_t>(std::min(ks[k], kept));
      if (std::any_of(ranking.begin(), end, [&](const auto& found) {
            return gallery[found.second].item == queries[static_cast<std::size_t>(q)].item;
          })) {
        ++hits[k];
      }
    }
  }
  std::printf("%-22s", name);
  for (std::size_t k = 0; k < ks.size(); ++k) {
    std::printf("  R@%-2zu %5.1f", ks[k], 100.0 * hits[k] / std::max(asked.rows, 1));
  }
  std::printf("\n");
}

int floors(const std::filesystem::path& root, const std::filesystem::path& list_file) {
  const InshopList list = read_inshop_list(list_file);
  std::printf("%s\n%s\n", list_file.c_str(), list.report.text().c_str());
  report("HSV histogram", root, list, hues * saturations * values, colour_histogram);
  report("24x24 pixels", root, list, side * side * 3, raw_pixels);
  return 0;
}

}  // namespace
}  // namespace seam::stages

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: floors ROOT [LIST]\n");
    return 2;
  }
  try {
    const std::filesystem::path root = argv[1];
    return seam::stages::floors(root,
                                argc == 3 ? argv[2] : root / "Eval" / "list_eval_partition.txt");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "floors: %s\n", error.what());
    return 1;
  }
}
