#include "stages/dataset/wardrobe/folder.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "stages/image/decode_image.hpp"
#include "tests/stages/dataset/layout.hpp"

namespace seam::stages::folder_test {

namespace fs = std::filesystem;

constexpr WardrobeOptions small{
    .items = 6, .colours = 2, .views = 2, .size = 32, .test_share = 0.5, .seed = 3};

std::map<std::string, std::string> contents(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) {
      files[fs::relative(entry.path(), root).string()] = test::text_of_file(entry.path());
    }
  }
  return files;
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
  EXPECT_REFUSED((void)plan_wardrobe({.items = 4, .colours = 1, .views = 1}), Fault::configuration,
                 "needs two images per item");
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

TEST(WardrobeFolder, DrawsReadableJpegFilesAndAList) {
  const TemporaryFolder folder;
  EXPECT_EQ(provide_wardrobe(folder.path(), small), WardrobeOutcome::drawn);

  const InshopList list = read_inshop_list(folder.path() / "Eval/list_eval_partition.txt");
  EXPECT_EQ(list.rows.size(), 24U);
  EXPECT_EQ(list.report.lone_queries, 0);
  EXPECT_THAT(list.report.images, ::testing::ElementsAre(12, 6, 6));
  for (const InshopRow& row : list.rows) {
    const Image image = decode_image(read_file(folder.path() / row.path), row.path);
    ASSERT_EQ(image.height(), 32) << row.path;
    ASSERT_EQ(image.width(), 32) << row.path;
  }
}

TEST(WardrobeFolder, DrawsTheSameBytesOnAnyNumberOfThreads) {
  const TemporaryFolder folder;
  provide_wardrobe(folder.path() / "one", small, 1);
  provide_wardrobe(folder.path() / "three", small, 3);

  EXPECT_EQ(contents(folder.path() / "one"), contents(folder.path() / "three"));
}

TEST(WardrobeFolder, AnotherSeedDrawsOtherGarments) {
  const TemporaryFolder folder;
  WardrobeOptions other = small;
  other.seed = 4;
  provide_wardrobe(folder.path() / "a", small);
  provide_wardrobe(folder.path() / "b", other);

  const std::string image = "img/WOMEN/Dresses/id_00000001/01_1_front.jpg";
  EXPECT_NE(test::text_of_file(folder.path() / "a" / image),
            test::text_of_file(folder.path() / "b" / image));
}

/// Names in the folder, without those of `root`.
std::vector<std::string> names_beside(const fs::path& root) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root.parent_path())) {
    if (entry.path() != root) names.push_back(entry.path().filename().string());
  }
  return names;
}

TEST(WardrobeFolder, RefusesAWardrobeWithoutAnImage) {
  const TemporaryFolder folder;
  provide_wardrobe(folder.path(), small);
  fs::remove(folder.path() / "img/MEN/Tees_Tanks/id_00000002/01_1_front.jpg");

  EXPECT_REFUSED(provide_wardrobe(folder.path(), small), Fault::data, "01_1_front.jpg' is missing");
}

TEST(WardrobeFolder, LeavesNothingOfAnInterruptedDrawing) {
  const TemporaryFolder folder;
  for (const int threads : {1, 3}) {
    const auto stop_soon = [](std::int64_t done, std::int64_t) {
      if (done >= 5) throw std::runtime_error("stopped");
    };
    EXPECT_THROW(provide_wardrobe(folder.path() / "broken", small, threads, stop_soon),
                 std::runtime_error);
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
  EXPECT_EQ(provide_wardrobe(folder.path() / "broken", small), WardrobeOutcome::drawn);
}

TEST(WardrobeFolder, IsDrawnBesideWhatAKilledRunLeft) {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "w";
  std::string part;
  provide_wardrobe(root, small, 1,
                   [&](std::int64_t, std::int64_t) { part = names_beside(root).at(0); });
  fs::remove_all(root);
  folder.write(part + "/img/WOMEN/Dresses/id_00000001/01_1_front.jpg", "half");

  EXPECT_EQ(provide_wardrobe(root, small), WardrobeOutcome::drawn);
  EXPECT_THAT(names_beside(root), ::testing::ElementsAre(part));
  EXPECT_NE(test::text_of_file(root / "img/WOMEN/Dresses/id_00000001/01_1_front.jpg"), "half");
}

TEST(WardrobeFolder, FollowsALinkAndAnEndingSlash) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "real");
  fs::create_directory_symlink(folder.path() / "real", folder.path() / "link");

  EXPECT_EQ(provide_wardrobe(folder.path() / "link", small), WardrobeOutcome::drawn);
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_EQ(provide_wardrobe(folder.path() / "real", small), WardrobeOutcome::reused);
  EXPECT_EQ(provide_wardrobe(folder.path() / "new" / "", small), WardrobeOutcome::drawn);
  EXPECT_EQ(provide_wardrobe(folder.path() / "new", small), WardrobeOutcome::reused);
}

TEST(WardrobeFolder, RefusesAFolderOfOthersOrThatCannotBeWritten) {
  const TemporaryFolder folder;
  folder.write("holiday.jpg", "beach");
  EXPECT_REFUSED(provide_wardrobe(folder.path(), small), Fault::configuration, "'holiday.jpg'");
  EXPECT_EQ(test::text_of_file(folder.path() / "holiday.jpg"), "beach");
  EXPECT_REFUSED(provide_wardrobe("/proc/wardrobe", small), Fault::data, "/proc/wardrobe");
}

TEST(WardrobeFolder, RefusesAWardrobeWithOtherParametersOrOfAnotherVersion) {
  const TemporaryFolder folder;
  provide_wardrobe(folder.path(), small);
  const auto before = contents(folder.path());
  WardrobeOptions other = small;
  other.items = 8;
  EXPECT_REFUSED(provide_wardrobe(folder.path(), other), Fault::configuration,
                 "a wardrobe with other parameters or from another version");
  EXPECT_EQ(contents(folder.path()), before);
  folder.write("wardrobe.txt", "Seam wardrobe\ndrawing = 1\nitems = 6\n");
  EXPECT_REFUSED(provide_wardrobe(folder.path(), small), Fault::configuration,
                 "from another version of Seam");
}

TEST(WardrobeFolder, TakesThatOfAProcessThatWasFaster) {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "w";
  bool first = true;
  const auto meanwhile = [&](std::int64_t, std::int64_t) {
    if (std::exchange(first, false)) provide_wardrobe(root, small);
  };
  EXPECT_EQ(provide_wardrobe(root, small, 1, meanwhile), WardrobeOutcome::reused);
  EXPECT_TRUE(names_beside(root).empty());

  fs::remove_all(root);
  WardrobeOptions other = small;
  other.items = 8;
  first = true;
  EXPECT_REFUSED(provide_wardrobe(root, other, 1, meanwhile), Fault::configuration,
                 "a wardrobe with other parameters");
}

TEST(WardrobeFolder, IsDrawnOnceWhenManyAskAtOnce) {
  const TemporaryFolder folder;
  std::array<WardrobeOutcome, 4> outcomes{};
  {
    std::vector<std::jthread> askers;
    askers.reserve(outcomes.size());
    for (WardrobeOutcome& outcome : outcomes) {
      askers.emplace_back([&] { outcome = provide_wardrobe(folder.path(), small); });
    }
  }
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), WardrobeOutcome::drawn), 1);
}

}  // namespace seam::stages::folder_test
