#include "stages/dataset/wardrobe/folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <opencv2/imgcodecs.hpp>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages {
namespace folder_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr WardrobeOptions small{
    .items = 6, .colours = 2, .views = 2, .size = 32, .test_share = 0.5, .seed = 3};

std::map<std::string, std::string> contents(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) {
      files[fs::relative(entry.path(), root).string()] = file_content(entry.path());
    }
  }
  return files;
}

WardrobeOutcome provide(const fs::path& root, const WardrobeOptions& options, int threads = 1) {
  return provide_wardrobe(root, options, threads).outcome;
}

std::string error_of(const fs::path& root, const WardrobeOptions& options) {
  try {
    const ProvidedWardrobe provided = provide_wardrobe(root, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WardrobePlan, KeepsTrainItemsOutOfTheTest) {
  std::map<int, std::set<Split>> splits;
  for (const WardrobeImage& image : plan_wardrobe({.items = 40})) {
    splits[image.item].insert(image.split);
  }
  int train = 0;
  for (const auto& [item, found] : splits) {
    const bool trained = found == std::set{Split::train};
    EXPECT_TRUE(trained || found == (std::set{Split::query, Split::gallery})) << item;
    train += trained ? 1 : 0;
  }
  EXPECT_EQ(train, 20);
}

TEST(WardrobePlan, AsksInOtherColoursThanTheGallery) {
  std::map<int, std::set<int>> asked;
  std::map<int, std::set<int>> stored;
  for (const WardrobeImage& image : plan_wardrobe({.items = 20, .colours = 3})) {
    if (image.split == Split::query) asked[image.item].insert(image.colour);
    if (image.split == Split::gallery) stored[image.item].insert(image.colour);
  }
  for (const auto& [item, colours] : asked) {
    for (const int colour : colours) EXPECT_FALSE(stored[item].contains(colour));
    EXPECT_FALSE(stored[item].empty());
  }
}

TEST(WardrobePlan, DividesItemsOfOneColourByView) {
  std::set<Split> found;
  for (const auto& image : plan_wardrobe({.items = 2, .colours = 1, .views = 2, .test_share = 1})) {
    found.insert(image.split);
  }
  EXPECT_EQ(found, (std::set{Split::query, Split::gallery}));
}

TEST(WardrobePlan, NamesFilesAsDeepFashionDoes) {
  const auto images = plan_wardrobe({.items = 2, .colours = 2, .views = 7});
  EXPECT_EQ(images[0].path, "img/WOMEN/Dresses/id_00000001/01_1_front.jpg");
  EXPECT_EQ(images[1].path, "img/WOMEN/Dresses/id_00000001/01_2_side.jpg");
  EXPECT_EQ(images[6].path, "img/WOMEN/Dresses/id_00000001/01_11_front.jpg");
  EXPECT_EQ(images[7].path, "img/WOMEN/Dresses/id_00000001/02_1_front.jpg");
  std::set<std::string> paths;
  for (const auto& image : images) paths.insert(image.path);
  EXPECT_EQ(paths.size(), images.size());
}

TEST(WardrobePlan, RefusesWhatCannotBeDrawn) {
  EXPECT_REFUSED((void)plan_wardrobe({.items = 1}), Fault::configuration,
                 "items = 1 cannot be drawn");
  EXPECT_REFUSED((void)plan_wardrobe({.items = 4, .colours = 1, .views = 1}), Fault::configuration,
                 "needs two images per item");
  EXPECT_REFUSED((void)plan_wardrobe({.items = 4, .size = 8}), Fault::configuration,
                 "size = 8 cannot be drawn");
}

TEST(WardrobeFolder, DrawsReadableJpegFilesAndAList) {
  const TemporaryFolder folder;
  EXPECT_EQ(provide(folder.path(), small), WardrobeOutcome::drawn);

  const InshopList list = read_inshop_list(folder.path() / "Eval/list_eval_partition.txt");
  EXPECT_EQ(list.rows.size(), 24U);
  EXPECT_EQ(list.report.lone_queries, 0);
  EXPECT_THAT(list.report.images, ::testing::ElementsAre(12, 6, 6));
  for (const InshopRow& row : list.rows) {
    const cv::Mat image = cv::imread((folder.path() / row.path).string());
    ASSERT_EQ(image.size(), cv::Size(32, 32)) << row.path;
  }
}

TEST(WardrobeFolder, DrawsTheSameBytesOnAnyNumberOfThreads) {
  const TemporaryFolder folder;
  provide(folder.path() / "one", small, 1);
  provide(folder.path() / "three", small, 3);

  EXPECT_EQ(contents(folder.path() / "one"), contents(folder.path() / "three"));
}

TEST(WardrobeFolder, AnotherSeedDrawsOtherGarments) {
  const TemporaryFolder folder;
  WardrobeOptions other = small;
  other.seed = 4;
  provide(folder.path() / "a", small);
  provide(folder.path() / "b", other);

  const std::string image = "img/WOMEN/Dresses/id_00000001/01_1_front.jpg";
  EXPECT_NE(file_content(folder.path() / "a" / image), file_content(folder.path() / "b" / image));
}

TEST(WardrobeFolder, ReusesWhatIsThere) {
  const TemporaryFolder folder;
  provide(folder.path(), small);
  EXPECT_EQ(provide(folder.path(), small), WardrobeOutcome::reused);
}

TEST(WardrobeFolder, DrawsMissingImagesAgain) {
  const TemporaryFolder folder;
  provide(folder.path(), small);
  const auto before = contents(folder.path());
  fs::remove(folder.path() / "img/MEN/Tees_Tanks/id_00000002/01_1_front.jpg");

  EXPECT_EQ(provide(folder.path(), small), WardrobeOutcome::drawn);
  EXPECT_EQ(contents(folder.path()), before);
}

TEST(WardrobeFolder, ContinuesAnInterruptedDrawing) {
  const TemporaryFolder folder;
  provide(folder.path() / "whole", small);
  const auto stop_soon = [](std::int64_t done, std::int64_t) {
    if (done == 5) throw std::runtime_error("stopped");
  };
  EXPECT_THROW((void)provide_wardrobe(folder.path() / "broken", small, 1, stop_soon),
               std::runtime_error);
  EXPECT_FALSE(fs::exists(folder.path() / "broken/Eval"));

  EXPECT_EQ(provide(folder.path() / "broken", small), WardrobeOutcome::drawn);
  EXPECT_EQ(contents(folder.path() / "broken"), contents(folder.path() / "whole"));
}

TEST(WardrobeFolder, ReplacesItsOwnFilesAndNoOthers) {
  const TemporaryFolder folder;
  WardrobeOptions fewer = small;
  fewer.items = 2;
  provide(folder.path() / "fresh", fewer);
  provide(folder.path() / "used", small);
  write_file(folder.path() / "used/img/WOMEN/Skirts/id_00000003/mine.jpg", "precious");

  EXPECT_EQ(provide(folder.path() / "used", fewer), WardrobeOutcome::drawn);
  auto found = contents(folder.path() / "used");
  EXPECT_EQ(found["img/WOMEN/Skirts/id_00000003/mine.jpg"], "precious");
  found.erase("img/WOMEN/Skirts/id_00000003/mine.jpg");
  EXPECT_EQ(found, contents(folder.path() / "fresh"));
}

TEST(WardrobeFolder, RefusesAFolderOfOthers) {
  const TemporaryFolder folder;
  write_file(folder.path() / "holiday.jpg", "beach");
  EXPECT_THAT(error_of(folder.path(), small), HasSubstr("'holiday.jpg'"));
  EXPECT_EQ(file_content(folder.path() / "holiday.jpg"), "beach");
}

TEST(WardrobeFolder, RefusesToReplaceAWardrobeInUse) {
  const TemporaryFolder folder;
  ProvidedWardrobe used = provide_wardrobe(folder.path(), small);
  WardrobeOptions other = small;
  other.items = 8;
  EXPECT_THAT(error_of(folder.path(), other), HasSubstr("in use"));
  EXPECT_EQ(provide(folder.path(), small), WardrobeOutcome::reused);

  used.in_use.reset();
  EXPECT_EQ(provide(folder.path(), other), WardrobeOutcome::drawn);
}

TEST(WardrobeFolder, IsDrawnOnceWhenManyAskAtOnce) {
  const TemporaryFolder folder;
  std::array<WardrobeOutcome, 4> outcomes{};
  {
    std::vector<std::jthread> askers;
    askers.reserve(outcomes.size());
    for (WardrobeOutcome& outcome : outcomes) {
      askers.emplace_back([&] { outcome = provide(folder.path(), small); });
    }
  }
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), WardrobeOutcome::drawn), 1);
}

TEST(WardrobeFolder, SaysWhereItCannotWrite) {
  EXPECT_THAT(error_of("/proc/wardrobe", small), HasSubstr("/proc/wardrobe"));
}

}  // namespace folder_test
}  // namespace seam::stages
