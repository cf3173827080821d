#include "stages/dataset/tar_labels.hpp"

#include <gtest/gtest.h>

#include <seam/refusal_testing.hpp>

#include "tests/stages/dataset/tars.hpp"

namespace seam::stages {
namespace tar_labels_test {

TarMember label(const std::string& text) {
  return *TarReader(tars::opened(tars::member("1.label", text) + tars::end)).next();
}

std::string read(const std::string& text, const LabelFields& fields = {}) {
  const SampleLabels labels = read_json(label(text), fields);
  return labels.item + "/" + labels.category.value_or("none");
}

TEST(ReadCls, TakesTheTextAsItemAndCategory) {
  for (const char* text : {"tench", " tench\n", "tench\r\n"}) {
    EXPECT_EQ(read_cls(label(text)).item, "tench");
    EXPECT_EQ(read_cls(label(text)).category, "tench");
  }
  EXPECT_EQ(read_cls(label("sea lion")).item, "sea lion");
  EXPECT_REFUSED((void)read_cls(label(" \n")), Fault::data, "t.tar: '1.label' is empty");
  EXPECT_REFUSED((void)read_cls(label("1\n2\n")), Fault::data, "has several lines");
}

TEST(ReadJson, TakesTheUsualFields) {
  EXPECT_EQ(read(R"({"item": "id_7", "category": "boots", "width": 2.5})"), "id_7/boots");
  EXPECT_EQ(read(R"({"label": 7})"), "7/none");
  EXPECT_EQ(read(R"({"item": 1, "category": -3})"), "1/-3");
}

TEST(ReadJson, TakesTheNamedFields) {
  EXPECT_EQ(read(R"({"item": "a", "label": "b", "sku": "c"})", {"sku", "label"}), "c/b");
}

TEST(ReadJson, RefusesOtherObjectsByName) {
  const auto refused = [](const std::string& text, const LabelFields& fields, const char* why) {
    EXPECT_REFUSED((void)read_json(label(text), fields), Fault::data, why);
  };
  for (const char* text : {"", "{", "[]", "3", R"({"item": "a"} x)"}) {
    refused(text, {}, "t.tar: '1.label' is not a JSON object");
  }
  refused(R"({"url": "a", "width": 3})", {},
          "t.tar: '1.label' has no field 'item'; its fields are 'url', 'width': set 'item_field'");
  refused(R"({"item": "a"})", {"", "kind"}, "has no field 'kind'; its fields are 'item': set 'cat");
  refused(R"({"item": "a", "label": "b"})", {}, "has both a field 'item' and a field 'label'");
  for (const char* value : {"2.5", "true", "null", "[]", "\"\"", "{}"}) {
    refused(std::string("{\"item\": ") + value + "}", {}, "neither a text nor a whole number");
  }
}

}  // namespace tar_labels_test
}  // namespace seam::stages
