#include "stages/dataset/table_list.hpp"

#include <seam/error.hpp>
#include <seam/random.hpp>
#include <tuple>

#include "stages/dataset/csv.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"

namespace seam::stages::table_list_test {

constexpr std::string_view small_table =
    "path,item,category,split\n"
    "a.jpg,id_1,hats,train\n"
    "b.jpg,id_1,hats,train\n"
    "c.jpg,id_2,boots,query\n"
    "d.jpg,id_2,boots,gallery\n";

TableOptions of_split(const std::string& split) {
  TableOptions options;
  options.split = split;
  return options;
}

std::string error_of(std::string_view text, const TableOptions& options = {}) {
  return test::message_of([&] { (void)parse_table(text, "t.csv", options); });
}

/// (path, item, category, index, line)
std::vector<std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>> rows_of(
    std::string_view text, const TableOptions& options = {}) {
  std::vector<std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>> rows;
  for (const TableRow& row : parse_table(text, "t.csv", options).rows) {
    rows.emplace_back(row.path, row.item, row.category, row.index, row.line);
  }
  return rows;
}

std::vector<std::vector<std::string>> cells_of(std::string_view text, char separator = ',') {
  CsvReader reader(text, "t.csv", separator);
  std::vector<std::vector<std::string>> rows;
  for (CsvRow row; reader.next(row);) rows.push_back(row.cells);
  return rows;
}

TEST(Csv, ReadsQuotes) {
  EXPECT_THAT(cells_of("a,\"b,\"\"c\"\"\",\"\"\r\n\"two\nlines\",,x"),
              ElementsAre(ElementsAre("a", "b,\"c\"", ""), ElementsAre("two\nlines", "", "x")));
  EXPECT_THAT(cells_of("a;b,c;\n", ';'), ElementsAre(ElementsAre("a", "b,c", "")));
  EXPECT_THAT(cells_of("\xEF\xBB\xBFx,y\n\n\r\n1,2"),
              ElementsAre(ElementsAre("x", "y"), ElementsAre("1", "2")));
  EXPECT_THAT(cells_of(""), IsEmpty());
}

TEST(Csv, CountsLinesInsideOfQuotes) {
  CsvReader reader("\"a\n\nb\"\nc\n", "t.csv", ',');
  CsvRow row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row.line, 1);
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row.line, 4);
  EXPECT_FALSE(reader.next(row));
}

TEST(TableList, ReadsTheRowsOfASplit) {
  EXPECT_THAT(
      rows_of(small_table, of_split("train")),
      ElementsAre(std::tuple("a.jpg", "id_1", 1, 0, 2), std::tuple("b.jpg", "id_1", 1, 1, 3)));
  // Categories are numbered over all splits, and rows over the whole table.
  EXPECT_THAT(rows_of(small_table, of_split("gallery")),
              ElementsAre(std::tuple("d.jpg", "id_2", 0, 3, 5)));
  EXPECT_EQ(rows_of(small_table, of_split("*")).size(), 4U);
}

TEST(TableList, TakesColumnsInAnyOrderAndLeavesOthersAlone) {
  EXPECT_THAT(rows_of("\xEF\xBB\xBF,note, item ,path\r\n0,\"x,\ny\",id_1, a.jpg \r\n"),
              ElementsAre(std::tuple("a.jpg", "id_1", 0, 0, 2)));
}

TEST(TableList, TakesWholeNumbersForCategoriesAsTheyAre) {
  EXPECT_THAT(rows_of("path,label,category\na,1,10\nb,2,9\n"),
              ElementsAre(std::tuple("a", "1", 10, 0, 2), std::tuple("b", "2", 9, 1, 3)));
  EXPECT_THAT(rows_of("path,label,category\na,1,10\nb,2,x\nc,2,-1\n"),
              ElementsAre(std::tuple("a", "1", 1, 0, 2), std::tuple("b", "2", 2, 1, 3),
                          std::tuple("c", "2", 0, 2, 4)));
}

TEST(TableList, ReadsTheColumnsOfOpenMetricLearning) {
  constexpr std::string_view table =
      "label,path,split,is_query,is_gallery,category,sequence,x_1,x_2,y_1,y_2\n"
      "7,a.jpg,train,,,hats,3,,,,\n"
      "8,b.jpg,validation,True,True,hats,3,,,,\n"
      "8,c.jpg,validation,False,True,boots,4,,,,\n";
  EXPECT_THAT(rows_of(table, of_split("train")), ElementsAre(std::tuple("a.jpg", "7", 1, 0, 2)));
  EXPECT_THAT(rows_of(table, of_split("query")), ElementsAre(std::tuple("b.jpg", "8", 1, 1, 3)));
  // The image that is both has a single index, so that leave-one-out recognises it.
  EXPECT_THAT(rows_of(table, of_split("gallery")),
              ElementsAre(std::tuple("b.jpg", "8", 1, 1, 3), std::tuple("c.jpg", "8", 0, 2, 4)));
  EXPECT_EQ(rows_of(table, of_split("validation")).size(), 2U);
}

TEST(TableList, HandsOnBoxesOrSaysThatThereAreSome) {
  constexpr std::string_view table =
      "path,label,x_1,x_2,y_1,y_2\n"
      "a.jpg,7,1,20,2.5,30\n"
      "a.jpg,8,5,20,2.5,30\n";
  EXPECT_THAT(error_of(table), AllOf(HasSubstr("t.csv:2"), HasSubstr("boxes = \"field\""),
                                     HasSubstr("boxes = \"ignore\"")));
  TableOptions options;
  options.boxes = TableBoxes::field;
  const TableList list = parse_table(table, "t.csv", options);
  ASSERT_EQ(list.rows.size(), 2U);
  EXPECT_THAT(list.rows[0].box, ElementsAre(1, 2.5, 20, 30));
  EXPECT_THAT(error_of("path,label,x_1,x_2,y_1,y_2\na.jpg,7,20,1,2,30\n", options),
              HasSubstr("the box is empty"));
  EXPECT_THAT(error_of("path,label,x_1,x_2,y_1,y_2\na.jpg,7,,,,\n", options),
              HasSubstr("'x_1' is empty"));
  EXPECT_THAT(error_of("path,label\na.jpg,7\n", options), HasSubstr("no column 'x_1' with boxes"));
  options.split = "query";
  EXPECT_EQ(parse_table("path,label,split,x_1,x_2,y_1,y_2\n"
                        "a.jpg,7,train,,,,\n"
                        "b.jpg,7,query,1,20,2.5,30\n",
                        "t.csv", options)
                .rows.size(),
            1U)
      << "only the rows of the split need one";
  EXPECT_THAT(error_of("path,label,split,x_1,x_2,y_1,y_2\na.jpg,7,query,,,,\n", options),
              HasSubstr("'x_1' is empty"));
  options.split.clear();
  options.boxes = TableBoxes::ignore;
  EXPECT_THAT(error_of(table, options), HasSubstr("listed a second time; first on line 2"));
}

TEST(TableList, FindsAnImageAgainUnderAnotherSpelling) {
  EXPECT_THAT(error_of("path,label\na/1.jpg,7\na/2.jpg,7\n./a//1.jpg,7\n"),
              HasSubstr("t.csv:4: image './a//1.jpg' is listed a second time; first on line 2"));
}

TEST(TableList, ReadsFurtherColumns) {
  TableOptions options;
  options.texts = {{"Main colour", "colour"}};
  options.integers = {{"views", "views"}};
  options.numbers = {{"weight", "weight"}};
  const TableList list =
      parse_table("path,item,Main colour,views,weight\na,1,\"dark red\",3,0.25\nb,1,,-4,1e3\n",
                  "t.csv", options);
  EXPECT_THAT(list.rows[0].texts, ElementsAre("dark red"));
  EXPECT_THAT(list.rows[1].texts, ElementsAre(""));
  EXPECT_THAT(list.rows[1].integers, ElementsAre(-4));
  EXPECT_THAT(list.rows[1].numbers, ElementsAre(1000));
  const auto with = [&](const std::string& row) {
    return error_of("path,item,Main colour,views,weight\n" + row + "\n", options);
  };
  EXPECT_THAT(with("a,1,x,3.5,1"), AllOf(HasSubstr("t.csv:2"), HasSubstr("'views' holds '3.5'")));
  EXPECT_THAT(with("a,1,x,3,nan"), HasSubstr("not a finite number"));
  EXPECT_THAT(with("a,1,x,3,"), HasSubstr("'weight' is empty"));
  EXPECT_THAT(with("a,1,x,99999999999999999999,1"), HasSubstr("not a whole number"));
  EXPECT_THAT(error_of("path,item\na,1\n", options),
              HasSubstr("no column 'Main colour' for field 'colour'"));
}

TEST(TableList, FindsItemsInTrainAndElsewhere) {
  const TableList list =
      parse_table("path,item,split\na,1,train\nb,1,query\nc,2,train\n", "t.csv", of_split("train"));
  EXPECT_THAT(list.items_in_train_and_elsewhere, ElementsAre("1"));
}

TEST(TableList, RefusesColumnsThatAreMissingOrUnclear) {
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("path,item\n"), HasSubstr("no rows"));
  EXPECT_THAT(error_of("file,item\na,1\n"),
              AllOf(HasSubstr("t.csv:1"), HasSubstr("no column 'path'"), HasSubstr("'file'"),
                    HasSubstr("'path_column'")));
  EXPECT_THAT(error_of("path;item\na;1\n"), HasSubstr("a different 'separator'"));
  EXPECT_THAT(error_of("path,name\na,1\n"), HasSubstr("'label'"));
  EXPECT_THAT(error_of("path,item,label\na,1,1\n"), HasSubstr("set 'item_column'"));
  EXPECT_THAT(error_of("path,item,path\na,1,b\n"), HasSubstr("'path' occurs twice"));
  EXPECT_THAT(error_of("path,item\na,1\n", of_split("train")),
              AllOf(HasSubstr("no column 'split'"), HasSubstr("'split_column'")));
}

TEST(TableList, QueriesOfSeveralSplitsAreToldApart) {
  const std::string text =
      "path,item,split,is_query,is_gallery\n"
      "a,1,validation,True,False\nb,1,validation,False,True\n"
      "c,2,test,True,False\nd,2,test,False,True\ne,3,train,,\n";
  EXPECT_THAT(error_of(text, of_split("query")),
              HasSubstr("are of several splits, 'test', 'validation', one of which may be for "
                        "tuning; set 'split' to 'test/query'"));
  const TableList queries = parse_table(text, "table.csv", of_split("validation/query"));
  ASSERT_EQ(queries.rows.size(), 1U);
  EXPECT_EQ(queries.rows[0].path, "a");
  const TableList gallery = parse_table(text, "table.csv", of_split("test/gallery"));
  ASSERT_EQ(gallery.rows.size(), 1U);
  EXPECT_EQ(gallery.rows[0].path, "d");
  EXPECT_THAT(error_of(text, of_split("dev/query")), HasSubstr("no row is of split 'dev/query'"));
}

TEST(TableList, RefusesRowsByLine) {
  const auto with = [](const std::string& row) {
    return error_of("path,item,category\na,1,x\n" + row + "\n");
  };
  EXPECT_THAT(with("b,1"),
              AllOf(HasSubstr("t.csv:3"), HasSubstr("2 cells"), HasSubstr("3 columns")));
  EXPECT_THAT(with("b,1,x,y"), HasSubstr("4 cells"));
  EXPECT_THAT(with(",1,x"), AllOf(HasSubstr("t.csv:3"), HasSubstr("'path' is empty")));
  EXPECT_THAT(with("b, ,x"), HasSubstr("'item' is empty"));
  EXPECT_THAT(with("b,1,"), HasSubstr("'category' is empty"));
  EXPECT_THAT(with("a,2,x"), AllOf(HasSubstr("t.csv:3"), HasSubstr("first on line 2")));
  EXPECT_THAT(with("\"b,1,x"), AllOf(HasSubstr("t.csv:3"), HasSubstr("never closed")));
  EXPECT_THAT(with("b\"c,1,x"), HasSubstr("a quote inside a cell"));
  EXPECT_THAT(with("\"b\"c,1,x"), HasSubstr("closing quotes must be followed"));
  EXPECT_THAT(with(std::string("b\0,1,x", 6)), HasSubstr("NUL"));
  EXPECT_THAT(error_of("path,item,is_query\na,1,maybe\n", of_split("query")),
              AllOf(HasSubstr("t.csv:2"), HasSubstr("'maybe'")));
}

TEST(TableList, RefusesASplitThatIsNotThereAndAsksForOneWhereThereAreSeveral) {
  EXPECT_THAT(error_of(small_table, of_split("test")),
              AllOf(HasSubstr("no row is of split 'test'"), HasSubstr("'gallery', 'query'")));
  EXPECT_THAT(error_of(small_table), AllOf(HasSubstr("several splits"), HasSubstr("\"*\"")));
  EXPECT_EQ(error_of("path,item,split\na,1,train\n"), "");
}

}  // namespace seam::stages::table_list_test
