#include "stages/dataset/folder.hpp"

#include <seam/conformance.hpp>

#include "tests/stages/dataset/layout.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::folder_test {

void write_classes(const TemporaryFolder& folder) {
  for (const char* file : {"hats/b.PNG", "hats/a.jpg", "boots/old/c.jpeg", "boots/a.jpg",
                           "boots-2/a.jpg", "boots/notes.txt", ".cache/a.jpg", "hats/.a.jpg.swp"}) {
    folder.write(file, "pixels");
  }
}

const auto conformance = testing::conformance<Folder>({
    .parameters = {{"root", std::string("nowhere")}},
    .connect = rooted_in(&write_classes),
    .refused = {{{"fold", std::int64_t{1}}}, {{"part", std::string("held_out")}}},
});

/// (file, item, category, index)
using Row = std::tuple<std::string, std::string, std::int64_t, std::int64_t>;

class FolderStage : public DataSetTest<Folder> {
 protected:
  [[nodiscard]] std::vector<Row> rows(testing::Harness& harness) const {
    harness.produce();
    std::vector<Row> found;
    for (const Packet& packet : harness.outputs()) {
      const auto file = packet.get(field::path).lexically_relative(folder_.path());
      EXPECT_EQ(packet.origin().item, file.generic_string());
      found.emplace_back(file.generic_string(), packet.get(field::item),
                         packet.get(field::category), packet.get(field::index));
    }
    return found;
  }
  void write(const std::string& file) const { folder_.write(file, "pixels"); }
};

TEST_F(FolderStage, TakesFoldersForClassesInTheOrderOfTheirNames) {
  write_classes(folder_);
  EXPECT_THAT(rows(*make()),
              ElementsAre(Row{"boots/a.jpg", "boots", 0, 0}, Row{"boots/old/c.jpeg", "boots", 0, 1},
                          Row{"boots-2/a.jpg", "boots-2", 1, 2}, Row{"hats/a.jpg", "hats", 2, 3},
                          Row{"hats/b.PNG", "hats", 2, 4}));
}

TEST_F(FolderStage, ItsListingIsThatOfAllImagesWhateverPartIsServed) {
  write_classes(folder_);
  const auto digest = [&](const std::string& parameter = "limit", std::int64_t value = 9) {
    const auto harness = make();
    harness->set(parameter, value).open();
    return interface_of<Listing>(*harness).listing_digest();
  };
  const std::uint64_t before = digest();
  EXPECT_EQ(digest("limit", 1), before);
  write("hats/c.jpg");
  const std::uint64_t more = digest();
  EXPECT_NE(more, before);
  std::filesystem::rename(folder_.path() / "hats/c.jpg", folder_.path() / "boots/c.jpg");
  EXPECT_NE(digest(), more) << "an image of a different class";
  std::filesystem::remove(folder_.path() / "boots/c.jpg");
  EXPECT_EQ(digest(), before);
}

TEST_F(FolderStage, CategoriesAreCalledLikeTheirFolders) {
  write_classes(folder_);
  const auto harness = make();
  harness->open();
  EXPECT_THAT(names_of(*harness), ElementsAre("boots", "boots-2", "hats"));
  const auto ordered = make();
  ordered->set("categories", std::vector<std::string>{"hats", "boots", "boots-2"}).open();
  EXPECT_THAT(names_of(*ordered), ElementsAre("hats", "boots", "boots-2"));
}

TEST_F(FolderStage, TakesEachPictureOfAFlatFolderForAnItem) {
  write("b.jpg");
  write("a.jpg");
  EXPECT_THAT(rows(*make()), ElementsAre(Row{"a.jpg", "a.jpg", 0, 0}, Row{"b.jpg", "b.jpg", 0, 1}));
}

TEST_F(FolderStage, ServesImagesThatAreNotDecodedSoThatNoneIsPassedOver) {
  for (const char* file : {"a.bmp", "b.GIF", "c.tif", "d.jp2", "e.png", "f.HEIC"}) write(file);
  EXPECT_THAT(rows(*make()), ::testing::SizeIs(6));
}

TEST_F(FolderStage, TakesTheInnermostFolderForAnItemWhereAsked) {
  write("dresses/id_1/a.jpg");
  write("dresses/id_1/b.jpg");
  write("dresses/id_2/a.jpg");
  write("shirts/id_1/a.jpg");
  const auto harness = make();
  harness->set("items", "folder");
  EXPECT_THAT(rows(*harness), ElementsAre(Row{"dresses/id_1/a.jpg", "dresses/id_1", 0, 0},
                                          Row{"dresses/id_1/b.jpg", "dresses/id_1", 0, 1},
                                          Row{"dresses/id_2/a.jpg", "dresses/id_2", 0, 2},
                                          Row{"shirts/id_1/a.jpg", "shirts/id_1", 1, 3}));
}

TEST_F(FolderStage, AsksWhatFoldersMeanWhereTheRootHasPicturesToo) {
  write("x/b.jpg");
  write("a.jpg");
  EXPECT_THAT(error_of([&] { make()->open(); }), AllOf(HasSubstr("'a.jpg'"), HasSubstr("'x/b.jpg'"),
                                                       HasSubstr("items = \"picture\"")));
  for (const char* by_folder : {"class", "folder"}) {
    EXPECT_REFUSED(make()->set("items", by_folder).open(), Fault::data,
                   "is not in a folder of 'root'");
  }
  const auto harness = make();
  harness->set("items", "picture");
  EXPECT_THAT(rows(*harness),
              ElementsAre(Row{"a.jpg", "a.jpg", 0, 0}, Row{"x/b.jpg", "x/b.jpg", 1, 1}));
  const auto root_alone = make();
  root_alone->set("recursive", false);
  EXPECT_THAT(rows(*root_alone), ElementsAre(Row{"a.jpg", "a.jpg", 0, 0}));
}

TEST_F(FolderStage, CountsAnEmptyFolderAsACategoryAndSaysSo) {
  write("c/a.jpg");
  write("a/a.jpg");
  std::filesystem::create_directories(folder_.path() / "b");
  const auto harness = make();
  EXPECT_THAT(rows(*harness), ElementsAre(Row{"a/a.jpg", "a", 0, 0}, Row{"c/a.jpg", "c", 2, 1}));
  EXPECT_THAT(harness->log(), has_line("category 'b' has no image"));
}

TEST_F(FolderStage, NumbersCategoriesAsTold) {
  write("c/a.jpg");
  write("a/a.jpg");
  const auto harness = make();
  harness->set("categories", Value{std::vector<std::string>{"c", "b", "a"}});
  EXPECT_THAT(rows(*harness), ElementsAre(Row{"a/a.jpg", "a", 2, 0}, Row{"c/a.jpg", "c", 0, 1}));
  EXPECT_THAT(error_of([&] { make()->set("categories", "a").open(); }),
              AllOf(HasSubstr("folder 'c'"), HasSubstr("is not in 'categories'")));
  EXPECT_REFUSED(make()->set("categories", std::vector<std::string>{"c", "a", "c"}).open(),
                 Fault::configuration, "'categories' names 'c' twice");
}

TEST_F(FolderStage, SaysWhatItLeavesOut) {
  write_classes(folder_);
  const auto harness = make();
  harness->open();
  EXPECT_THAT(harness->log(),
              has_line("1 file with a different extension was left out (boots/notes.txt)"));
  const auto other = make();
  other->set("extensions", "txt");
  EXPECT_THAT(rows(*other), ElementsAre(Row{"boots/notes.txt", "boots", 0, 0}));
}

TEST_F(FolderStage, RefusesWhatCannotBeRead) {
  EXPECT_REFUSED(make()->set("root", "/nowhere").open(), Fault::data, "/nowhere");
  write("notes.txt");
  EXPECT_THAT(error_of([&] { make()->open(); }),
              AllOf(HasSubstr("no image in"), HasSubstr("jpg, jpeg"), HasSubstr("notes.txt")));
  write("x/a.jpg");
  std::filesystem::create_directory_symlink(folder_.path(), folder_.path() / "x/again");
  EXPECT_REFUSED(make()->open(), Fault::data, "a link to one of its parent folders");
}

}  // namespace seam::stages::folder_test
