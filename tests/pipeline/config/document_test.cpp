#include "pipeline/config/document.hpp"

#include "tests/support/matchers.hpp"

namespace seam::host::document_test {

class Document : public ::testing::Test {
 protected:
  const Table& read(std::string text) {
    root_ = read_document(sources_.add("a.toml", std::move(text)), findings_);
    return *root_.table();
  }
  /// "line:column+length" of a word inside the text value of a key.
  std::string place_of(const std::string& key, const std::string& word) {
    const Node& node = root_.table()->find(key)->node;
    const std::size_t offset = node.text()->find(word);
    EXPECT_NE(offset, std::string::npos);
    const Place place = place_inside(sources_, node, offset, word.size());
    return std::to_string(place.line) + ":" + std::to_string(place.column) + "+" +
           std::to_string(place.length);
  }

  Sources sources_;
  Findings findings_{sources_};
  Node root_;
};

TEST_F(Document, KeepsTheFilesOrderAndPlaces) {
  const Table& table = read("zebra = 1\n[apple]\nb = 2.5\na = true\n[apple.inner]\n");
  ASSERT_THAT(table.entries, SizeIs(2));
  EXPECT_EQ(table.entries[0].key, "zebra");
  EXPECT_EQ(table.entries[0].node.place.column, 9U);
  const Table& apple = *table.find("apple")->node.table();
  ASSERT_THAT(apple.entries, SizeIs(3));
  EXPECT_EQ(apple.entries[0].key, "b");
  EXPECT_EQ(apple.entries[0].key_place.line, 3U);
  EXPECT_EQ(apple.entries[0].node.place.length, 3U);
  EXPECT_EQ(apple.entries[2].key, "inner");
}

TEST_F(Document, PlacesInsideTexts) {
  read(
      "a = \"one two\"\n"
      "b = 'one two'\n"
      "c = \"\\\"\\u00e9 two\"\n"
      "d = \"\"\"\n  one\n  two\"\"\"\n"
      "e = \"\"\"one \\\n    two\"\"\"\n"
      "f = '''\none\ntwo'''\n"
      "g = \"äö two\"\n");
  EXPECT_EQ(place_of("a", "two"), "1:10+3");
  EXPECT_EQ(place_of("b", "two"), "2:10+3");
  EXPECT_EQ(place_of("c", "two"), "3:15+3");
  EXPECT_EQ(place_of("d", "two"), "6:3+3");
  EXPECT_EQ(place_of("e", "two"), "8:5+3");
  EXPECT_EQ(place_of("f", "two"), "11:1+3");
  EXPECT_EQ(place_of("g", "two"), "12:9+3");
}

TEST_F(Document, SyntaxErrorsPoint) {
  read("a = 1\nb = [1,\n");
  const std::vector<Problem> problems = findings_.in_order();
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].code, "toml-syntax");
  EXPECT_EQ(problems[0].place.file, "a.toml");
  EXPECT_EQ(problems[0].place.line, 2U);
  EXPECT_TRUE(root_.broken);
}

TEST(SetValue, TomlWhereItIsTomlElseText) {
  const Place place{"--set", 1, 20, 1};
  const auto read = [&](const std::string& text) { return read_set_value(text, place).value; };
  EXPECT_EQ(std::get<std::int64_t>(read("5")), 5);
  EXPECT_EQ(std::get<double>(read("0.5")), 0.5);
  EXPECT_EQ(std::get<bool>(read("true")), true);
  EXPECT_EQ(std::get<std::string>(read("\"5\"")), "5");
  EXPECT_EQ(std::get<std::string>(read("cubic")), "cubic");
  EXPECT_EQ(std::get<std::string>(read("a -> b")), "a -> b");
  EXPECT_EQ(std::get<std::string>(read("2020-01-01")), "2020-01-01");
  EXPECT_EQ(std::get<std::string>(read("1\nx = 2")), "1\nx = 2");
  EXPECT_EQ(std::get<std::string>(read("")), "");
  EXPECT_THAT(std::get<Array>(read("[1, 2]")), SizeIs(2));
}

TEST(SetValue, PlacesAreThoseOfTheOption) {
  const Node node = read_set_value("[1, 22]", {"--set", 3, 20, 1});
  EXPECT_EQ(node.place.line, 3U);
  EXPECT_EQ(node.place.column, 20U);
  EXPECT_EQ(node.array()->at(1).place.column, 24U);
  EXPECT_EQ(node.array()->at(1).place.length, 2U);
}

}  // namespace seam::host::document_test
