#include "stages/dataset/table.hpp"

#include <seam/box.hpp>
#include <seam/conformance.hpp>

#include "tests/stages/dataset/layout.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::table_test {

void write_table(const TemporaryFolder& folder) {
  folder.write("lists/all.csv",
               "path,label,split,category,price,Main colour,x_1,x_2,y_1,y_2\n"
               "img/a.jpg,1,train,hats,9.5,red,0,10,1,20\n"
               "img/b.jpg,1,train,hats,7,\"red, blue\",0,10,1,20\n"
               "img/c.jpg,2,train,boots,3,,0,10,1,20\n"
               "img/d.jpg,3,query,boots,3,,0,10,1,20\n");
  folder.write("img/a.jpg", "pixels");
  folder.write("img/d.jpg", "pixels");
}

const std::vector<std::string> further{"Main colour as colour"};

const auto conformance = testing::conformance<Table>({
    .parameters = {{"table", std::string("nowhere.csv")},
                   {"split", std::string("train")},
                   {"boxes", std::string("field")},
                   {"texts", further},
                   {"numbers", std::vector<std::string>{"price"}}},
    .connect =
        [](testing::Harness& harness) {
          auto folder = shared_folder(&write_table);
          harness.set("table", (folder->path() / "lists/all.csv").string());
          harness.set("root", folder->path().string());
          return folder;
        },
    .refused = {{{"texts", std::vector<std::string>{"Main colour"}}},
                {{"texts", std::vector<std::string>{"item"}}},
                {{"texts", std::vector<std::string>{"price"}}},
                {{"texts", std::vector<std::string>{"x as box"}}},
                {{"texts", std::vector<std::string>{""}}},
                {{"fold", std::int64_t{3}}}},
});

class TableStage : public ::testing::Test {
 protected:
  TableStage() { write_table(folder_); }
  [[nodiscard]] std::unique_ptr<testing::Harness> make() const {
    auto harness = std::make_unique<testing::Harness>("items", std::make_unique<Table>());
    harness->set("table", (folder_.path() / "lists/all.csv").string())
        .set("root", folder_.path().string())
        .set("split", "train")
        .set("boxes", "field");
    return harness;
  }

  TemporaryFolder folder_;
};

TEST_F(TableStage, ServesRowsWithTheirFields) {
  const auto harness = make();
  harness->set("texts", Value{further}).set("numbers", "price").produce();

  ASSERT_EQ(harness->outputs().size(), 3U);
  const Packet& second = harness->outputs()[1];
  EXPECT_EQ(second.get(field::path), folder_.path() / "img/b.jpg");
  EXPECT_EQ(second.get(field::item), "1");
  EXPECT_EQ(second.get(field::category), 1);
  EXPECT_EQ(second.get(field::index), 1);
  EXPECT_EQ(second.get(Field<std::string>{"colour"}), "red, blue");
  EXPECT_EQ(second.get(Field<double>{"price"}), 7);
  EXPECT_THAT(second.get(field::box), ElementsAre(0, 1, 10, 20));
  EXPECT_EQ(second.origin().line, 3);
  EXPECT_EQ(*second.origin().file, (folder_.path() / "lists/all.csv").string());
  EXPECT_FALSE(second.has("split"));
}

TEST_F(TableStage, ServesTheFieldsThatWereSetLast) {
  const auto harness = make();
  harness->set("numbers", "price").set("numbers", "price as cost").produce();
  ASSERT_EQ(harness->outputs().size(), 3U);
  EXPECT_TRUE(harness->outputs()[1].has("cost"));
  EXPECT_FALSE(harness->outputs()[1].has("price"));
}

TEST_F(TableStage, TakesPathsRelativeToTheTableWhereNoRootIsGiven) {
  folder_.write("flat.csv", "path,item\nimg/a.jpg,1\n");
  testing::Harness harness("items", std::make_unique<Table>());
  harness.set("table", (folder_.path() / "flat.csv").string()).produce();
  ASSERT_EQ(harness.outputs().size(), 1U);
  EXPECT_EQ(harness.outputs()[0].get(field::path), folder_.path() / "img/a.jpg");
}

TEST_F(TableStage, NamesTheCategoriesThatTheTableNames) {
  const auto names = [this](const std::string& first, const std::string& second) {
    folder_.write("flat.csv",
                  "path,item,category\nimg/a.jpg,1," + first + "\nimg/b.jpg,2," + second + "\n");
    testing::Harness harness("items", std::make_unique<Table>());
    harness.set("table", (folder_.path() / "flat.csv").string()).open();
    auto& names = interface_of<CategoryNames>(harness);
    EXPECT_EQ(dynamic_cast<ListedCategories&>(names).has_own_numbers(), first == "7") << first;
    return names.category_names();
  };
  EXPECT_THAT(names("hats", "boots"), ElementsAre("boots", "hats"));
  EXPECT_THAT(names("7.0", "10.0"), ElementsAre("10.0", "7.0"));
  for (const char* first : {"7", "0"}) {
    EXPECT_THAT(names(first, "0"), ::testing::IsEmpty()) << first;
  }
}

TEST_F(TableStage, SaysWhatIsMissing) {
  EXPECT_REFUSED(make()->set("table", "/nowhere.csv").open(), Fault::data, "/nowhere.csv");
  EXPECT_REFUSED(make()->set("root", "/nowhere").open(), Fault::data, "/nowhere");
  EXPECT_THAT(error_of([&] { make()->set("expect", 4).open(); }),
              AllOf(HasSubstr("3 images"), HasSubstr("4 were expected")));
  std::filesystem::remove(folder_.path() / "img/a.jpg");
  EXPECT_THAT(error_of([&] { make()->open(); }),
              AllOf(HasSubstr("all.csv:2"), HasSubstr("a.jpg', the first image, is missing")));
}

TEST_F(TableStage, WarnsOfItemsInTrainAndElsewhere) {
  folder_.write("mixed.csv", "path,item,split\nimg/a.jpg,1,train\nimg/d.jpg,1,query\n");
  testing::Harness harness("items", std::make_unique<Table>());
  harness.set("table", (folder_.path() / "mixed.csv").string()).set("split", "query").open();
  EXPECT_THAT(harness.log(), has_line("both in split 'train' and in another split"));
}

}  // namespace seam::stages::table_test
