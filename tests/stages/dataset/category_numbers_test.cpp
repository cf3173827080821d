#include "stages/dataset/category_numbers.hpp"

#include <gmock/gmock.h>

namespace seam::stages::category_numbers_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NumberCategories, KeepsNumbers) {
  const NumberedCategories numbered = number_categories({"3", "0", "3"}, {"0", "3", "7"});
  EXPECT_THAT(numbered.rows, ElementsAre(3, 0, 3));
  EXPECT_THAT(numbered.names, IsEmpty());
}

TEST(NumberCategories, ReadsWholeNumbersThatAreWrittenAsFloats) {
  const NumberedCategories numbered =
      number_categories({"10.0", "2.00", "3"}, {"10.0", "2.00", "3"});
  EXPECT_THAT(numbered.rows, ElementsAre(10, 2, 3));
  EXPECT_THAT(numbered.names, IsEmpty());
  for (const char* name : {"3.5", "3.", ".0", "3.0.0", "-3.0", "1e1", "v3.0", "3.0 ", ""}) {
    EXPECT_FALSE(category_number(name)) << name;
  }
}

TEST(NumberCategories, NumbersTheNamesOfTheWholeList) {
  const NumberedCategories numbered =
      number_categories({"hats", "10", "9"}, {"10", "9", "boots", "hats"});
  EXPECT_THAT(numbered.rows, ElementsAre(3, 0, 1));
  EXPECT_THAT(numbered.names, ElementsAre("10", "9", "boots", "hats"));
  EXPECT_THAT(number_categories({"3"}, {"-1", "3"}).rows, ElementsAre(1));
  EXPECT_THAT(number_categories({}, {}).rows, IsEmpty());
}

}  // namespace seam::stages::category_numbers_test
